import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Turns, type Worker } from './turns.js';

/** Work that a test leaves would go on during the next test file, which may stop the clock that this work reads. */
let isOver = false;
beforeEach(() => {
  isOver = false;
});
afterEach(async () => {
  isOver = true;
  await nextTurn();
});

/** Work with this many parts, each of which takes this long. */
class Work implements Worker {
  done = 0;
  /** The time that the parts really took, which is longer on a busy machine. */
  tookMs = 0;

  constructor(
    readonly share: string,
    private readonly parts: number,
    private readonly msOfPart: number,
    private readonly log: string[],
    private readonly enter: (work: Work) => void,
  ) {}

  work(): void {
    if (isOver) return;
    const begin = performance.now();
    while (performance.now() < begin + this.msOfPart);
    this.tookMs += performance.now() - begin;
    this.done += 1;
    this.log.push(this.share);
    if (this.done < this.parts) this.enter(this);
  }
}

async function untilDone(works: readonly Work[], parts: number): Promise<void> {
  while (works.reduce((sum, { done }) => sum + done, 0) < parts) await nextTurn();
}

/** Turns, and the order in which they were taken. */
function begin() {
  const [turns, log] = [new Turns(), [] as string[]];
  const add = (share: string, parts: number, ms: number, isStranger = false): Work => {
    const enter = (work: Work): void => (isStranger ? turns.enterStranger(work) : turns.enter(work));
    const work = new Work(share, parts, ms, log, enter);
    enter(work);
    return work;
  };
  return { log, add };
}

const times = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));

describe('turns', () => {
  it.each([
    ['connections', false],
    ['strangers of as many sources', true],
  ])('a neighbour waits for one part of a flood, however many %s flood', async (_, areStrangers) => {
    const { log, add } = begin();
    times(20, (n) => add(areStrangers ? `source ${n}` : 'flood', 20, 0.5, areStrangers));
    await nextTurn();
    const before = log.length;
    const neighbour = add('neighbour', 1, 0.1);
    while (neighbour.done === 0) await nextTurn();
    expect(log.indexOf('neighbour') - before).toBeLessThanOrEqual(3);
  });

  it('a stranger waits for one part of each other source, however many connections that has', async () => {
    const { log, add } = begin();
    times(50, () => add('flood', 20, 0.2, true));
    await nextTurn();
    const before = log.length;
    const other = add('other', 1, 0.1, true);
    while (other.done === 0) await nextTurn();
    expect(log.indexOf('other') - before).toBeLessThanOrEqual(6);
  });

  it('two shares have the same time, though one has many workers and long parts', async () => {
    const { add } = begin();
    const [many, one] = [times(10, () => add('many', 20, 1)), add('one', 400, 0.25)];
    await untilDone([...many, one], 150);
    const ofMany = many.reduce((sum, { tookMs }) => sum + tookMs, 0);
    expect(one.tookMs / ofMany).toBeGreaterThan(0.5);
    expect(one.tookMs / ofMany).toBeLessThan(2);
  });

  it('a share that is without work for a moment comes back with what it has spent', async () => {
    const { log, add } = begin();
    const busy = add('busy', 1_000, 0.2);
    // Long parts, each of which comes when the one before is done.
    const parts: Work[] = [];
    for (let n = 0; n < 20; n += 1) {
      const part = add('in and out', 1, 2);
      while (part.done === 0) await nextTurn();
      parts.push(part);
    }
    expect(log.filter((share) => share === 'in and out')).toHaveLength(20);
    expect(busy.tookMs).toBeGreaterThan(0.5 * parts.reduce((sum, { tookMs }) => sum + tookMs, 0));
  });

  it('everything else of the process has its turn within a few milliseconds', async () => {
    const { log, add } = begin();
    times(50, () => add('flood', 4, 0.5));
    const waits: number[] = [];
    while (log.length < 200) {
      const before = log.length;
      await nextTurn();
      waits.push(log.length - before);
    }
    expect(Math.max(...waits)).toBeLessThanOrEqual(4);
  });
});
