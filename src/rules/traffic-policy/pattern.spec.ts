import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compilePattern, matchesPattern, PatternRefused } from './pattern.js';

const matches = (pattern: string, text: string): boolean => matchesPattern(compilePattern(pattern), text);

function isSmall(pattern: string): boolean {
  try {
    return compilePattern(pattern).size > 0;
  } catch (error) {
    if (error instanceof PatternRefused && /large|long/.test(error.message)) return false;
    throw error;
  }
}

/** Patterns that mean the same in JavaScript, which reads them by trying every way. */
const { pattern: patterns } = fc.letrec<{ pattern: string; sequence: string; piece: string; atom: string }>((tie) => ({
  pattern: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('sequence'),
    fc.tuple(tie('sequence'), tie('sequence')).map(([a, b]) => `${a}|${b}`),
  ),
  sequence: fc.array(tie('piece'), { maxLength: 3 }).map((pieces) => pieces.join('')),
  piece: fc
    .tuple(tie('atom'), fc.constantFrom('', '', '', '*', '+', '?', '{2}', '{0,2}', '{1,}', '*?', '{0}'))
    .map(([atom, repeat]) => `${atom}${repeat}`),
  atom: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('a', 'b', '1', '.', '\\.', '\\d', '\\W', '[ab]', '[^a]', '[a-c1]', '[\\]a]', '(?:)'),
    tie('pattern').map((inner) => `(${inner})`),
    tie('pattern').map((inner) => `(?:${inner})`),
  ),
}));

describe('a pattern', () => {
  it.each<[pattern: string, text: string, expected: boolean]>([
    ['^10[.]', '10.1.2.3', true],
    ['(?i)^2001:DB8:', '2001:db8::1', true],
    ['(?i)[a-c]{2}', 'xBCx', true],
    ['^[0-9]+\\.[0-9]+\\.[0-9]+\\.[0-9]+$', '192.0.2.7', true],
    ['^(10|192\\.168)\\.', '192.168.1.1', true],
    ['^[^.]{3}\\.', '192.0.2.7', true],
    ['\\x31\\t?0', '10', true],
    ['[]]', ']', true],
    ['[\\d.]+$', '1.2', true],
    ['a{', 'a{', true],
    ['.', 'é', true],
  ])('%j in %j: %j', (pattern, text, expected) => {
    expect(matches(pattern, text)).toBe(expected);
  });

  it('matches where a naive reading, which tries every way, matches', () => {
    const texts = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1', '.', ']', '\n'), maxLength: 8 });
    const anchored = fc
      .tuple(fc.constantFrom('', '^'), patterns, fc.constantFrom('', '$'))
      .map(([start, inner, end]) => `${start}(?:${inner})${end}`);
    fc.assert(
      fc.property(anchored.filter(isSmall), texts, (pattern, text) => {
        expect(matches(pattern, text)).toBe(new RegExp(pattern).test(text));
      }),
      { numRuns: 1_000 },
    );
  });

  it('matches without regard to case as JavaScript does', () => {
    const texts = fc.string({ unit: fc.constantFrom('a', 'B', 'C', '1', '.'), maxLength: 6 });
    fc.assert(
      fc.property(patterns.map((pattern) => `(?i)${pattern}`).filter(isSmall), texts, (pattern, text) => {
        expect(matches(pattern, text)).toBe(new RegExp(pattern.slice(4), 'i').test(text));
      }),
      { numRuns: 300 },
    );
  });

  it.each<[pattern: string, why: string]>([
    ['a'.repeat(257), 'is 257 characters long; the maximum is 256'],
    ['é', 'has a character that is not ASCII'],
    ['(a', 'has ( without )'],
    ['a)', 'has ) without ('],
    ['[a', 'has [ without ]'],
    ['*a', 'repeats nothing with *'],
    ['a**', 'repeats a repeat; put the inner one into ( )'],
    ['a{101}', 'has the repeat {101}; its numbers go up to 100, the smaller one first'],
    ['[b-a]', 'has a range in [ ] whose end comes before its start'],
    ['[[:alpha:]]', 'has a class [: :], which is not read here'],
    ['\\pL', 'has \\p, which is not read here'],
    ['(a)\\1', 'has \\1, which is not read here'],
    ['(?=a)', 'has a group that begins with (?, which is read only as (?: ) and as (?i) at the start'],
    ['((a{100}){100}){100}', 'is too large: it has more than 256 states; repeat less'],
    [`${'('.repeat(17)}a${')'.repeat(17)}`, 'has more than 16 groups in each other'],
  ])('%j is refused: it %s', (pattern, why) => {
    expect(() => compilePattern(pattern)).toThrow(new PatternRefused(why));
  });
});

describe('a hostile pattern', () => {
  const HOSTILE = [
    '(a+)+$',
    '(a?){80}a{80}$',
    '(.*)(.*)(.*)(.*)(.*)(.*)x',
    '[0-9a-f:]*1[0-9a-f:]{90}$',
    '(.|.|.|.|.|.|.|.|.|.|.|.|.|.|.|.){7}x',
  ];

  it.each(HOSTILE)('%s takes no longer than its size and the text say', (pattern) => {
    const compiled = compilePattern(pattern);
    const text = 'a'.repeat(2_000);
    const nanosecondsPerStep = Array.from({ length: 40 }, () => {
      const before = performance.now();
      matchesPattern(compiled, text);
      return ((performance.now() - before) * 1e6) / (compiled.size * text.length);
    });
    expect(Math.min(...nanosecondsPerStep)).toBeLessThan(400);
  });

  it.each(['((((){100}){100}){100}){100}', '(((((a{0}){100}){100}){100}){100}){100}'])(
    '%s, which repeats nothing, is compiled at once',
    (pattern) => {
      expect(compilePattern(pattern).size).toBe(1);
    },
  );
});
