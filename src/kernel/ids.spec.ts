import { describe, expect, it } from '@jest/globals';
import { firstIdOf, IdSource, isId } from './ids.js';

const KSUID_EPOCH_SECONDS = 1_400_000_000;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const secondOf = (id: string): number => {
  const [, ksuid = ''] = id.split('_');
  const value = [...ksuid].reduce((sum, c) => sum * 62n + BigInt(BASE62.indexOf(c)), 0n);
  return Number(value >> 128n) + KSUID_EPOCH_SECONDS;
};

describe('the first id of a second', () => {
  it('separates the ids of earlier seconds from the ids of its own', () => {
    const at = new Date('2026-11-21T10:00:00.500Z');
    const first = firstIdOf('bd', at);
    expect(isId(first, 'bd')).toBe(true);
    for (let n = 0; n < 100; n += 1) {
      expect(new IdSource().next('bd', at) > first).toBe(true);
      expect(new IdSource().next('bd', new Date(at.getTime() - 1000)) < first).toBe(true);
    }
    expect(firstIdOf('bd', new Date(0))).toBe('bd_000000000000000000000000000');
  });
});

describe('an id', () => {
  it('is its prefix and 27 base62 characters that encode the second it was made', () => {
    const at = new Date('2026-11-21T10:00:00.999Z');
    const id = new IdSource().next('sshcr', at);
    expect(id).toMatch(/^sshcr_[0-9A-Za-z]{27}$/);
    expect(secondOf(id)).toBe(Math.floor(at.getTime() / 1000));
    expect(isId(id, 'sshcr')).toBe(true);
    expect(isId(id, 'usr')).toBe(false);
    expect(isId(`${id}\n`, 'sshcr')).toBe(false);
  });

  it('is greater than every id made before in the process, in one second, over seconds and when the clock steps back', () => {
    let now = Date.parse('2026-01-01T00:00:00Z');
    const ids = new IdSource(() => now);
    let last = '';
    const unordered: string[] = [];
    for (let n = 0; n < 800; n += 1) {
      if (n % 200 === 0) now += 1000;
      if (n === 500) now -= 3_600_000;
      const id = ids.next('op');
      if (id <= last) unordered.push(`${last} ${id}`);
      last = id;
    }
    expect(unordered).toEqual([]);
  });

  it('sorts by its millisecond, also among ids of other processes', () => {
    const start = Date.parse('2026-01-01T00:00:00.990Z');
    const sources = Array.from({ length: 4 }, () => new IdSource(() => start));
    const made: string[] = [];
    for (let ms = 0; ms < 1500; ms += 1) {
      const source = sources[Math.floor(Math.random() * sources.length)];
      made.push(source?.next('sshcr', new Date(start + ms)) ?? '');
    }
    expect([...made].sort()).toEqual(made);
  });

  it('stays in its millisecond however many the process makes in it', () => {
    const at = new Date('2026-01-01T00:00:00.500Z');
    const next = new IdSource().next('op', new Date(at.getTime() + 1));
    const ids = new IdSource();
    const made = Array.from({ length: 2_000 }, () => ids.next('op', at));
    expect(made.filter((id) => id >= next)).toEqual([]);
  });

  it('is greater than the ids of earlier seconds that earlier versions made', () => {
    const ofEarlierVersion = 'op_3MRoOoDeHQNpZZ4KhiEHm8oa4rU';
    const at = new Date((secondOf(ofEarlierVersion) + 1) * 1000);
    expect(new IdSource().next('op', at) > ofEarlierVersion).toBe(true);
    expect(new IdSource().next('op', new Date(at.getTime() - 1001)) < ofEarlierVersion).toBe(true);
  });

  it('does not show how many ids were made before it', () => {
    const ids = new IdSource(() => Date.parse('2026-01-01T00:00:00Z'));
    const numbers = Array.from({ length: 3 }, () =>
      [...ids.next('op').slice(3)].reduce((sum, c) => sum * 62n + BigInt(BASE62.indexOf(c)), 0n),
    );
    const [a = 0n, b = 0n, c = 0n] = numbers;
    expect(b - a).not.toBe(c - b);
    expect(b - a).toBeGreaterThan(2n ** 32n);
  });
});

describe('the time of an id source', () => {
  it('never goes back', () => {
    let now = 5000;
    const ids = new IdSource(() => now);
    expect(ids.now().getTime()).toBe(5000);
    now = 4000;
    expect(ids.now().getTime()).toBe(5000);
  });
});
