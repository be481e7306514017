import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { problemOf } from '../../../test/support/problems.js';
import { Problem } from '../../kernel/problem.js';
import { parseBindTarget } from './bind-target.js';

describe('parseBindTarget reads', () => {
  it.each([
    [{ domain: 'App.Example.com.' }, { kind: 'domain', name: 'app.example.com' }],
    [{ domain: '*.Bücher.example' }, { kind: 'domain', name: '*.xn--bcher-kva.example' }],
    [{ address: 'App.example:443' }, { kind: 'address', host: 'app.example', port: 443 }],
    [{ address: 'app.example:0' }, { kind: 'address', host: 'app.example', port: 0 }],
    [{ address: '[0::1]:80' }, { kind: 'address', host: '[::1]', port: 80 }],
    [{ label: { key: 'K', value: '' } }, { kind: 'label', key: 'K', value: '' }],
    [
      { domain: 'a.example', address: null, label: undefined },
      { kind: 'domain', name: 'a.example' },
    ],
  ])('%j', (request, parsed) => {
    expect(parseBindTarget(request)).toEqual(parsed);
  });
});

describe('parseBindTarget refuses', () => {
  it.each([
    [null],
    [undefined],
    ['a.example'],
    [[]],
    [{}],
    [{ domain: 'a.example', address: 'a.example:80' }],
    [{ domain: '' }],
    [{ domain: '*' }],
    [{ domain: '*.' }],
    [{ domain: 'a.*' }],
    [{ domain: 'a.example:80' }],
    [{ domain: '1.2.3.4' }],
    [{ domain: '[::1]' }],
    [{ domain: 'a..b' }],
    [{ domain: 7 }],
    [{ domain: 'a'.repeat(513) }],
    [{ address: 'a.example' }],
    [{ address: 'a.example:' }],
    [{ address: 'a.example:*' }],
    [{ address: 'a.example:65536' }],
    [{ address: ':80' }],
    [{ address: '*:80' }],
    [{ address: '[::1]' }],
    [{ label: 'k=v' }],
    [{ label: { key: '', value: 'v' } }],
    [{ label: { key: 'k' } }],
    [{ label: { key: 'k', value: '\0' } }],
    [{ label: { key: 'k', value: 'v'.repeat(513) } }],
    [{ label: { key: '\ud800', value: 'v' } }],
  ])('%j', (request) => {
    expect(problemOf(() => parseBindTarget(request)).problem).toBe('acl_rule_invalid');
  });
});

it('parseBindTarget returns a canonical target for any request, or throws a Problem', () => {
  const hosts = fc.string({ unit: fc.constantFrom('a', 'B', 'ü', '.', '-', '1', '*', '[', ']', ':'), maxLength: 8 });
  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    hosts,
    hosts.map((host) => `${host}:0`),
  );
  const request = fc.oneof(fc.jsonValue(), fc.record({ domain: texts }), fc.record({ address: texts }));
  fc.assert(
    fc.property(request, (value) => {
      try {
        const parsed = parseBindTarget(value);
        if (parsed.kind === 'domain') expect(parseBindTarget({ domain: parsed.name })).toEqual(parsed);
        if (parsed.kind === 'address')
          expect(parseBindTarget({ address: `${parsed.host}:${parsed.port}` })).toEqual(parsed);
      } catch (error) {
        expect(error).toBeInstanceOf(Problem);
      }
    }),
    { numRuns: 500 },
  );
});
