import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { OverlappingNames } from './overlapping-names.js';

const overlap = (one: string, other: string): boolean => new OverlappingNames([one]).overlap(other);

describe('two names overlap', () => {
  it.each([
    ['a.test:443', 'a.test:443'],
    ['a.test', 'a.test'],
    ['a.test', 'a.test:443'],
    ['*.test', 'a.test'],
    ['*.test', 'a.b.test:443'],
    ['*.test', '*.test'],
    ['*.test', '*.b.test'],
    ['*.test:443', 'a.test:443'],
    ['*.test:443', '*.b.test'],
    ['[2001:db8::1]:443', '[2001:db8::1]:443'],
    ['[2001:db8::1]', '[2001:db8::1]:443'],
    ['127.0.0.1:443', '127.0.0.1:443'],
  ])('%s and %s', (one, other) => {
    expect([overlap(one, other), overlap(other, one)]).toEqual([true, true]);
  });
});

describe('two names do not overlap', () => {
  it.each([
    ['a.test:443', 'a.test:444'],
    ['a.test', 'b.test:443'],
    ['*.test', 'test'],
    ['*.a.test', 'ba.test:443'],
    ['*.test:443', 'a.test:444'],
    ['*.a.test', '*.b.test'],
    ['[2001:db8::1]:443', '[2001:db8::2]:443'],
    ['127.0.0.1:443', '127.0.0.2:443'],
  ])('%s and %s', (one, other) => {
    expect([overlap(one, other), overlap(other, one)]).toEqual([false, false]);
  });
});

it('names have the ports that they name, and a domain has each', () => {
  const names = new OverlappingNames(['a.test:443', 'b.test:7001']);
  expect([443, 7001, 7002].map((port) => names.havePort(port))).toEqual([true, true, false]);
  expect(new OverlappingNames(['a.test:443', '*.test']).havePort(7002)).toBe(true);
  expect(new OverlappingNames([]).havePort(443)).toBe(false);
});

it('law: several names overlap another one if one of them does', () => {
  const host = fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 3 }).map((labels) => labels.join('.'));
  const name = fc
    .tuple(fc.constantFrom('', '*.'), host, fc.constantFrom('', ':1', ':2'))
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(fc.array(name, { maxLength: 5 }), name, (names, other) => {
      expect(new OverlappingNames(names).overlap(other)).toBe(names.some((one) => naively(one, other)));
    }),
  );
});

/** Compares the names from the end, label by label. */
function naively(one: string, other: string): boolean {
  const [[host = '', port], [otherHost = '', otherPort]] = [one.split(':'), other.split(':')];
  if (port !== undefined && otherPort !== undefined && port !== otherPort) return false;
  const [labels, otherLabels] = [host, otherHost].map((text) => text.split('.').reverse()) as [string[], string[]];
  for (let n = 0; ; n += 1) {
    const [label, otherLabel] = [labels[n], otherLabels[n]];
    if (label === undefined || otherLabel === undefined) return label === otherLabel;
    if (label === '*' || otherLabel === '*') return true;
    if (label !== otherLabel) return false;
  }
}
