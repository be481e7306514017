import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { RateLimitedLog } from './rate-limited-log.js';

interface Line {
  readonly of?: string;
  readonly source?: string;
  readonly message: string;
}

class Written {
  readonly lines: Line[] = [];
  readonly paced = new RateLimitedLog(
    { line: (_, fields, message) => void this.lines.push({ ...fields, message }) },
    'refused logins',
  );

  refuse(source: string, account?: string): void {
    this.paced.line(
      { name: source, ...(account !== undefined && { account }) },
      { source, padding: 'x'.repeat(200) },
      'refused',
    );
  }

  of(source: string): number {
    return this.lines.filter((line) => line.source === source).length;
  }

  get characters(): number {
    return JSON.stringify(this.lines).length + 100 * this.lines.length;
  }
}

describe('within a second', () => {
  it('one name has ten lines and 4,500 characters, and one line counts the others', async () => {
    const log = new Written();
    for (let n = 0; n < 5_000; n += 1) log.refuse('a');
    expect(log.of('a')).toBe(10);
    expect(log.characters).toBeLessThan(4_500);
    await sleep(1_100);
    expect(log.lines.at(-1)).toEqual({
      of: 'a',
      names: 1,
      message: 'left out 4990 more lines about refused logins within a second',
    });
  });

  it('many names that are noisy do not hide the first line of another one', () => {
    const log = new Written();
    for (let name = 0; name < 40; name += 1) for (let n = 0; n < 100; n += 1) log.refuse(`noisy ${name}`);
    log.refuse('another');
    expect(log.of('another')).toBe(1);
  });

  it('an account with many names does not hide the lines of another account', () => {
    const log = new Written();
    for (let name = 0; name < 500; name += 1) log.refuse(`noisy ${name}`, 'noisy');
    for (let n = 0; n < 5; n += 1) log.refuse('another', 'another');
    expect(log.of('another')).toBe(5);
  });

  it('all together have 40,000 characters, and what it remembers is bounded', async () => {
    const log = new Written();
    for (let name = 0; name < 50_000; name += 1) log.refuse(`${name}`);
    expect(log.characters).toBeLessThan(40_000);
    const { names } = log.paced as unknown as { readonly names: ReadonlyMap<string, unknown> };
    expect(names.size).toBeLessThan(1_100);
    await sleep(1_100);
    expect(log.lines.filter(({ of }) => of !== undefined)).toHaveLength(1);
  });
});

it('in the next second each name has its lines again', async () => {
  const log = new Written();
  for (let n = 0; n < 100; n += 1) log.refuse('a');
  await sleep(1_100);
  log.refuse('a');
  expect(log.of('a')).toBe(11);
});
