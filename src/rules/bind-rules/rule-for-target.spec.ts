import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Problem } from '../../kernel/problem.js';
import { compile, permits } from './acl.js';
import { type BindTarget, parseBindTarget } from './bind-target.js';
import { ruleFor } from './rule-for-target.js';

const isPermittedBy = (rule: string, target: BindTarget): boolean => permits(compile([rule]), target).permitted;

/** Undefined if `work` throws a Problem. */
function unlessRefused<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

const host = fc.oneof(
  fc.domain(),
  fc.domain().map((name) => `*.${name}`),
  fc.ipV4(),
  fc.ipV6().map((text) => `[${text}]`),
  fc.constantFrom('localhost', 'Bücher.Example.', '_dns.example', '[::ffff:192.0.2.1]'),
);
const part = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('*', 'a*', '=', 'a=b', 'x'.repeat(300)),
  fc.stringMatching(/^[ -~]{0,12}$/),
);
/** Every target that can be asked for, as it is read. */
const targets = fc
  .oneof(
    host.map((domain) => ({ domain })),
    fc.tuple(host, fc.nat({ max: 65_535 })).map(([name, port]) => ({ address: `${name}:${port}` })),
    fc.record({ key: part, value: part }).map((label) => ({ label })),
  )
  .map((request) => unlessRefused(() => parseBindTarget(request)))
  .filter((target) => target !== undefined);

describe('ruleFor', () => {
  it.each<[BindTarget, string | null]>([
    [{ kind: 'domain', name: 'app.example.com' }, 'bind:app.example.com'],
    [{ kind: 'domain', name: '*.example.com' }, 'bind:*.example.com'],
    [{ kind: 'address', host: 'app.example.com', port: 443 }, 'bind:app.example.com:443'],
    [{ kind: 'address', host: '[2001:db8::1]', port: 80 }, 'bind:[2001:db8::1]:80'],
    [{ kind: 'address', host: '127.0.0.1', port: 0 }, 'bind:127.0.0.1'],
    [{ kind: 'label', key: 'team', value: 'blue=red' }, 'bind:team=blue=red'],
    [{ kind: 'label', key: 'team', value: '' }, 'bind:team='],
    [{ kind: 'label', key: 'team', value: 'blue*' }, null],
    [{ kind: 'label', key: 'a=b', value: 'c' }, null],
    [{ kind: 'label', key: 'k', value: 'x'.repeat(506) }, null],
  ])('of %j is %j', (target, rule) => {
    expect(ruleFor(target)).toBe(rule);
  });

  it('is a rule that an ACL takes and that permits its target', () => {
    fc.assert(
      fc.property(targets, (target) => {
        const rule = ruleFor(target);
        expect(rule === null || isPermittedBy(rule, target)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is missing only for a label whose own words are no rule that permits it', () => {
    fc.assert(
      fc.property(targets, (target) => {
        if (ruleFor(target) !== null) return;
        const words = target.kind === 'label' ? `bind:${target.key}=${target.value}` : '*';
        expect(unlessRefused(() => isPermittedBy(words, target)) ?? false).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });
});
