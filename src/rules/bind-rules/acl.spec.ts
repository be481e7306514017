import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { problemOf } from '../../../test/support/problems.js';
import { Problem } from '../../kernel/problem.js';
import { compile, parseAcl, permits } from './acl.js';
import { type BindTarget, parseBindTarget } from './bind-target.js';

const address = (text: string): BindTarget => parseBindTarget({ address: text });
const domain = (text: string): BindTarget => parseBindTarget({ domain: text });
const label = (key: string, value: string): BindTarget => parseBindTarget({ label: { key, value } });
/** Requests in the tables below: `k=v` is a label, a text with a port is an address, any other text is a domain. */
function target(text: string): BindTarget {
  if (text.includes('=')) return label(text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1));
  return /:\d+$/.test(text) ? address(text) : domain(text);
}
const verdict = (acl: readonly string[], request: string) => permits(compile(acl), target(request));

const PERMITTED = true;
const REFUSED = false;

describe('an empty ACL permits everything', () => {
  it.each(['app.example.com', 'app.example.com:443', 'app.example.com:0', 'k=v'])('for %s', (request) => {
    expect(verdict([], request)).toEqual({ permitted: true, matchedRule: null, ruleIndex: null });
  });
});

describe('one rule and one request', () => {
  it.each([
    // Rule, request, verdict. The laws below try the forms of names, ports and labels with each other.
    ['*', 'app.example.com', PERMITTED],
    ['*', 'k=v', PERMITTED],
    ['bind:*', 'k=v', PERMITTED],

    ['bind:app.example.com', 'app.example.com', PERMITTED],
    ['bind:app.example.com', 'app.example.com:443', PERMITTED],
    ['bind:app.example.com.', 'app.example.com.:443', PERMITTED],
    ['bind:app.example.com', 'app.example.com.evil.example', REFUSED],
    ['bind:app.example.com', 'myapp.example.com', REFUSED],
    ['bind:app.example.com', '*.example.com', REFUSED],
    ['bind:bücher.example', 'xn--bcher-kva.example', PERMITTED],
    ['bind:bücher.example', 'bucher.example', REFUSED],

    ['bind:*.example.com', 'app.example.com', PERMITTED],
    ['bind:*.example.com', '*.example.com', PERMITTED],
    ['bind:*.b.example.com', '*.example.com', REFUSED],
    ['bind:*.example.com', 'example.com', REFUSED],
    ['bind:*.example.com', 'notexample.com', REFUSED],

    ['bind:app.example.com:443', 'app.example.com:443', PERMITTED],
    ['bind:app.example.com:443', 'app.example.com:444', REFUSED],
    ['bind:app.example.com:*', 'app.example.com:65535', PERMITTED],
    ['bind:*.example.com:443', 'a.example.com:80', REFUSED],

    // A domain names no port, so no rule that names one covers it.
    ['bind:app.example.com:443', 'app.example.com', REFUSED],

    // A request for a random port names no port either.
    ['bind:app.example.com', 'app.example.com:0', PERMITTED],
    ['bind:app.example.com:*', 'app.example.com:0', REFUSED],

    ['bind:127.0.0.1:80', '127.0.0.1:80', PERMITTED],
    ['bind:[0:0:0:0:0:0:0:1]:80', '[::1]:80', PERMITTED],
    ['bind:[2001:DB8::1]:*', '[2001:db8:0::1]:80', PERMITTED],
    ['bind:[::1]:80', '[::2]:80', REFUSED],
    ['bind:[::ffff:1.2.3.4]', '[::ffff:102:304]:80', PERMITTED],
    ['bind:1.2.3.4', '[::ffff:1.2.3.4]:80', REFUSED],
    ['bind:[::ffff:1.2.3.4]', '1.2.3.4:80', REFUSED],

    ['bind:k=v', 'k=v', PERMITTED],
    ['bind:k=v', 'k=V', REFUSED],
    ['bind:k=a=b', 'k=a=b', PERMITTED],
    ['bind:k=v w', 'k=v w', PERMITTED],
    ['bind:k= v', 'k=v', REFUSED],
    ['bind:k=*', 'k=v', PERMITTED],
    // A '*' in a request is literal, not a wildcard.
    ['bind:k=v', '*=v', REFUSED],
    // Names of built-in properties are ordinary names.
    ['bind:k=v', '__proto__=v', REFUSED],
    ['bind:__proto__=v', '__proto__=v', PERMITTED],

    ['bind:*=*', 'app.example.com', REFUSED],
    ['bind:app.example.com', 'app.example.com=', REFUSED],
    ['bind:app.example.com=443', 'app.example.com:443', REFUSED],
  ])('%s - %s: %j', (rule, request, permitted) => {
    const [matchedRule, ruleIndex] = permitted ? [rule, 0] : [null, null];
    expect(verdict([rule], request)).toEqual({ permitted, matchedRule, ruleIndex });
  });
});

describe('several rules: their union, and the first that covers the request is named', () => {
  it.each([
    [['bind:a.example', '*'], 'a.example', 'bind:a.example'],
    [['bind:*.example', 'bind:*.b.example'], 'a.b.example', 'bind:*.example'],
    [['bind:a.example:*', 'bind:a.example:80', 'bind:a.example'], 'a.example:80', 'bind:a.example:*'],
    [['bind:*=v', 'bind:k=*'], 'k=v', 'bind:*=v'],
    [['bind:A.example', 'bind:a.example.'], 'a.example', 'bind:A.example'],
    [['bind:b.example', 'bind:c.example'], 'a.example', null],
  ])('%j - %s: %j', (acl, request, matchedRule) => {
    const ruleIndex = matchedRule === null ? null : acl.indexOf(matchedRule);
    expect(verdict(acl, request)).toEqual({ permitted: matchedRule !== null, matchedRule, ruleIndex });
  });
});

describe('parseAcl', () => {
  it('refuses one bad rule among good ones and names its index', () => {
    const problem = problemOf(() => parseAcl(['*', 'bind:a.example', 'bind:*.*']));
    expect(problem).toMatchObject({ problem: 'acl_rule_invalid', code: 'ERR_NGROK_600', status: 400 });
    expect(problem.message).toMatch(/^acl\[2\] 'bind:\*\.\*' is not a bind rule: /);
  });

  it('checks the rules after a rule that permits everything', () => {
    expect(problemOf(() => parseAcl(['*', 'nonsense'])).message).toMatch(/^acl\[1\] /);
  });

  it('returns the rules as written: order, case, dots, duplicates', () => {
    const acl = ['bind:B.example.', '*', 'bind:ü.example', 'bind:B.example.', 'bind:[0::1]:*', 'bind: k= v '];
    expect(parseAcl(acl)).toEqual(acl);
  });

  it('accepts at most 1000 rules', () => {
    expect(parseAcl(Array(1000).fill('*'))).toHaveLength(1000);
    expect(problemOf(() => parseAcl(Array(1001).fill('*'))).message).toBe('acl has 1001 rules; the maximum is 1000.');
  });

  it('accepts a rule of at most 512 bytes of UTF-8', () => {
    const rule = `bind:k=${'ü'.repeat(252)}x`;
    expect(parseAcl([rule])).toEqual([rule]);
    expect(problemOf(() => parseAcl([`${rule}y`])).message).toMatch(
      /^acl\[0\] .* is 513 bytes long; the maximum is 512\.$/,
    );
  });

  it('accepts at most 65536 bytes of rules', () => {
    const acl = Array(128).fill(`bind:k=${'x'.repeat(505)}`);
    expect(parseAcl(acl)).toHaveLength(128);
    const sentence = 'acl is 65537 bytes long in all; the maximum is 65536.';
    expect(problemOf(() => parseAcl([...acl, '*'])).message).toBe(sentence);
  });
});

/**
 * The table of rules, checked rule by rule over texts in a small alphabet, without compiling and without shared code.
 */
function naiveVerdict(acl: readonly string[], request: string): ReturnType<typeof permits> {
  if (acl.length === 0) return { permitted: true, matchedRule: null, ruleIndex: null };
  const ruleIndex = acl.findIndex((rule) => naivelyCovers(rule, request));
  if (ruleIndex < 0) return { permitted: false, matchedRule: null, ruleIndex: null };
  return { permitted: true, matchedRule: acl[ruleIndex] ?? null, ruleIndex };
}

function naivelyCovers(rule: string, request: string): boolean {
  if (rule === '*' || rule === 'bind:*') return true;
  if (rule.startsWith('bind:*:')) return !request.includes('=') && request.split(':')[1] === rule.split(':')[2];
  const pattern = rule.replace('bind:', '');
  if (pattern.includes('=') !== request.includes('=')) return false;
  if (pattern.includes('=')) return naivelyCoversLabel(pattern, request);
  const fold = (name = '') => name.toLowerCase().replaceAll('ü', 'xn--tda').replace(/\.$/, '');
  const [ruleHost, rulePort] = pattern.split(':');
  const [host, port = '0'] = request.split(':');
  const wanted = fold(ruleHost);
  const hostFits = wanted.startsWith('*.') ? fold(host).endsWith(wanted.slice(1)) : fold(host) === wanted;
  const portFits = rulePort === undefined || (port !== '0' && (rulePort === '*' || rulePort === port));
  return hostFits && portFits;
}

function naivelyCoversLabel(pattern: string, request: string): boolean {
  const [, ruleKey, ruleValue] = /^([^=]*)=(.*)$/.exec(pattern) ?? [];
  const [, key, value] = /^([^=]*)=(.*)$/.exec(request) ?? [];
  return (ruleKey === '*' || ruleKey === key) && (ruleValue === '*' || ruleValue === value);
}

const names = fc
  .array(fc.constantFrom('a', 'B', 'b', 'ü', 'xn--tda'), { minLength: 1, maxLength: 4 })
  .chain((labels) => fc.constantFrom(labels.join('.'), `*.${labels.join('.')}`, `${labels.join('.')}.`));
const parts = (...choices: string[]) => fc.constantFrom(...choices);
const joined = (...arbitraries: fc.Arbitrary<string>[]) => fc.tuple(...arbitraries).map((texts) => texts.join(''));
const rules = fc.oneof(
  { weight: 1, arbitrary: parts('*', 'bind:*') },
  { weight: 2, arbitrary: parts('bind:*:1', 'bind:*:2') },
  { weight: 12, arbitrary: joined(parts('bind:'), names, parts('', '', ':1', ':2', ':*')) },
  {
    weight: 6,
    arbitrary: joined(parts('bind:'), parts('a', 'b', 'A', '*'), parts('='), parts('', 'a', 'b', 'a=', '*')),
  },
);
const requests = fc.oneof(
  { weight: 2, arbitrary: joined(names, parts('', ':0', ':1', ':2')) },
  { weight: 1, arbitrary: joined(parts('a', 'b', 'A', '*'), parts('='), parts('', 'a', 'b', 'a=', '*')) },
);

describe('laws', () => {
  it('compile and permits agree with the naive reading of the table, and name the same rule', () => {
    fc.assert(
      fc.property(
        fc.array(rules, { maxLength: 8 }),
        fc.array(requests, { minLength: 1, maxLength: 8 }),
        (acl, wanted) => {
          const compiled = compile(parseAcl(acl));
          for (const request of wanted) {
            expect(permits(compiled, target(request))).toEqual(naiveVerdict(acl, request));
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it('an added rule never takes a permission away', () => {
    fc.assert(
      fc.property(fc.array(rules, { minLength: 1, maxLength: 5 }), rules, requests, (acl, rule, request) => {
        if (!verdict(acl, request).permitted) return;
        expect(verdict([...acl, rule], request)).toEqual(verdict(acl, request));
        expect(verdict([rule, ...acl], request).permitted).toBe(true);
      }),
    );
  });

  it('an ACL that permits port 0 of a host permits each of its ports', () => {
    fc.assert(
      fc.property(fc.array(rules, { maxLength: 5 }), names, fc.integer({ min: 1, max: 65_535 }), (acl, name, port) => {
        fc.pre(verdict(acl, `${name}:0`).permitted);
        expect(verdict(acl, `${name}:${port}`).permitted).toBe(true);
      }),
    );
  });

  it('parseAcl returns any ACL of JSON or text unchanged, or throws a Problem', () => {
    const texts = fc.string({ unit: 'binary', maxLength: 20 });
    const rule = fc.oneof(fc.jsonValue(), texts, joined(parts('bind:', 'bind:*.', 'bind:[', 'bind:k='), texts), rules);
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 4 }), (acl) => {
        try {
          expect(parseAcl(acl)).toEqual(acl);
          compile(acl as string[]);
        } catch (error) {
          expect(error).toBeInstanceOf(Problem);
        }
      }),
      { numRuns: 400 },
    );
  });
});
