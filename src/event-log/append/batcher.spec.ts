import { describe, expect, it } from '@jest/globals';
import { type Batchable, Batcher, DEFAULT_BATCHER_LIMITS, type Waiting } from './batcher.js';

interface Item extends Batchable {
  readonly name: string;
}
const item = (name: string, keys: string[] = [name], sizeBytes = 1, mustNotFollow: string[] = []): Item => ({
  name,
  keys,
  mustNotFollow,
  sizeBytes,
});

/** A batcher whose batches end only when told to. */
function heldBatcher(limits: Partial<typeof DEFAULT_BATCHER_LIMITS> = {}) {
  const sent: string[][] = [];
  const ends: (() => void)[] = [];
  const send = (account: string, batch: readonly Waiting<Item, string>[]): Promise<void> => {
    sent.push([account, ...batch.map(({ item: { name } }) => name)]);
    return new Promise((resolve) => {
      ends.push(() => {
        for (const waiting of batch) waiting.resolve(waiting.item.name);
        resolve();
      });
    });
  };
  const batcher = new Batcher<Item, string>(send, { ...DEFAULT_BATCHER_LIMITS, ...limits });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const endNext = async () => {
    ends.shift()?.();
    await turn();
  };
  return { batcher, sent, endNext, turn };
}

describe('a batcher', () => {
  it('sends what arrived while a batch was under way as the next one', async () => {
    const { batcher, sent, endNext, turn } = heldBatcher();
    void batcher.push('ac_1', item('a'));
    await turn();
    for (const name of ['b', 'c', 'd']) void batcher.push('ac_1', item(name));
    await turn();
    expect(sent).toEqual([['ac_1', 'a']]);
    await endNext();
    expect(sent).toEqual([
      ['ac_1', 'a'],
      ['ac_1', 'b', 'c', 'd'],
    ]);
  });

  it('holds no two items with one key in a batch, and keeps their order', async () => {
    const { batcher, sent, endNext, turn } = heldBatcher();
    void batcher.push('ac_1', item('a', ['x']));
    void batcher.push('ac_1', item('b', ['x', 'y']));
    void batcher.push('ac_1', item('c', ['y']));
    void batcher.push('ac_1', item('d', ['z']));
    await turn();
    await endNext();
    await endNext();
    expect(sent).toEqual([
      ['ac_1', 'a', 'd'],
      ['ac_1', 'b'],
      ['ac_1', 'c'],
    ]);
  });

  it('holds no item after one with a key that it must not follow', async () => {
    const { batcher, sent, endNext, turn } = heldBatcher();
    void batcher.push('ac_1', item('a', ['a'], 1, ['x']));
    void batcher.push('ac_1', item('b', ['x']));
    void batcher.push('ac_1', item('c', ['c'], 1, ['y', 'x']));
    void batcher.push('ac_1', item('d', ['d'], 1, ['y']));
    await turn();
    await endNext();
    expect(sent).toEqual([
      ['ac_1', 'a', 'b', 'd'],
      ['ac_1', 'c'],
    ]);
  });

  it('keeps batches within their limits of items and bytes, one larger item going alone', async () => {
    const { batcher, sent, endNext, turn } = heldBatcher({ batchItems: 2, batchBytes: 10 });
    for (const [name, bytes] of [
      ['a', 1],
      ['b', 1],
      ['c', 99],
      ['d', 9],
      ['e', 2],
    ] as const) {
      void batcher.push('ac_1', item(name, [name], bytes));
    }
    await turn();
    for (let n = 0; n < 5; n += 1) await endNext();
    expect(sent.map(([, ...names]) => names)).toEqual([['a', 'b'], ['c'], ['d'], ['e']]);
  });

  it('has a second batch of an account under way where many wait, each with half of them', async () => {
    const { batcher, sent, endNext, turn } = heldBatcher();
    const names = Array.from({ length: 20 }, (_, n) => `n${n}`);
    for (const name of names) void batcher.push('ac_1', item(name));
    await turn();
    expect(sent.map((batch) => batch.length - 1)).toEqual([10]);
    for (const name of names) void batcher.push('ac_1', item(`later-${name}`));
    await turn();
    expect(sent.map((batch) => batch.length - 1)).toEqual([10, 15]);
    for (let n = 0; n < 3; n += 1) await endNext();
    expect(sent.flatMap(([, ...sentNames]) => sentNames)).toEqual([...names, ...names.map((name) => `later-${name}`)]);
  });

  it('lets what has a key of a batch that runs wait for its end, and the others go', async () => {
    const { batcher, sent, endNext, turn } = heldBatcher();
    void batcher.push('ac_1', item('first', ['x']));
    await turn();
    void batcher.push('ac_1', item('same', ['x', 'y']));
    void batcher.push('ac_1', item('behind it', ['y']));
    void batcher.push('ac_1', item('must not follow', ['z'], 1, ['x']));
    for (let n = 0; n < 29; n += 1) void batcher.push('ac_1', item(`n${n}`));
    await turn();
    expect(sent.map(([, ...names]) => names.filter((name) => !name.startsWith('n')))).toEqual([['first'], []]);
    await endNext();
    await endNext();
    await endNext();
    expect(sent.flat().filter((name) => !/^n|ac_/.test(name))).toEqual([
      'first',
      'same',
      'behind it',
      'must not follow',
    ]);
  });

  it('has one batch of an account under way where few wait, and as many as its limit of all', async () => {
    const { batcher, sent, endNext, turn } = heldBatcher({ batchesInFlight: 2 });
    for (const account of ['ac_1', 'ac_2', 'ac_3']) void batcher.push(account, item('a'));
    await turn();
    void batcher.push('ac_1', item('b'));
    await turn();
    expect(sent.map(([account]) => account)).toEqual(['ac_1', 'ac_2']);
    await endNext();
    expect(sent.map(([account]) => account)).toEqual(['ac_1', 'ac_2', 'ac_3']);
  });

  it('refuses items beyond the limit, and accepts items again after the queue shrinks', async () => {
    const { batcher, endNext, turn } = heldBatcher({ queuedItems: 2 });
    const first = batcher.push('ac_1', item('a'));
    await turn();
    const second = batcher.push('ac_1', item('b'));
    const third = batcher.push('ac_1', item('c'));
    await expect(batcher.push('ac_1', item('d'))).rejects.toMatchObject({ problem: 'overloaded', status: 503 });
    await endNext();
    await expect(first).resolves.toBe('a');
    const fourth = batcher.push('ac_1', item('e'));
    await endNext();
    await endNext();
    await expect(Promise.all([second, third, fourth])).resolves.toEqual(['b', 'c', 'e']);
    expect(batcher.queued).toBe(0);
  });
});
