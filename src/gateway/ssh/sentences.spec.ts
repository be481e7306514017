import { describe, expect, it } from '@jest/globals';
import { sentenceOf } from './sentences.js';

const RULE = 'bind:a.test:7001';
const sentence = (reason: string | undefined, needs: string | null = RULE): string =>
  sentenceOf(reason, needs, '192.0.2.7');

describe('a bind is refused or closed', () => {
  it.each([
    ['not_permitted', 'no rule of the credential permits it; it needs the rule bind:a.test:7001'],
    ['source_not_allowed', 'the credential may not be used from 192.0.2.7'],
    ['reserved_elsewhere', 'it is reserved for another account or credential; bind another one'],
    ['not_reserved', 'it must be reserved before it is bound: POST /reserved_addrs, or /reserved_domains for a domain'],
    ['a_later_reason', 'the service refuses it (a_later_reason)'],
    [undefined, 'the service refuses it (undefined)'],
  ])('for %s with a sentence', (reason, expected) => {
    expect(sentence(reason)).toBe(expected);
  });

  it('without a rule, if none helps', () => {
    expect(sentence('not_permitted', null)).toBe('no rule of the credential permits it');
  });
});
