import { describe, expect, it } from '@jest/globals';
import { problemOf } from '../../../test/support/problems.js';
import { parseBindRule } from './bind-rule.js';

describe('parseBindRule reads', () => {
  it.each([
    ['*', { kind: 'everything' }],
    ['bind:*', { kind: 'everything' }],
    ['bind:App.Example.com.', { kind: 'domain', pattern: 'exact', host: 'app.example.com' }],
    ['bind:*.Example.com:443', { kind: 'domain', pattern: 'suffix', host: 'example.com', port: 443 }],
    ['bind:[0::1]:*', { kind: 'domain', pattern: 'exact', host: '[::1]', port: '*' }],
    ['bind:K=a=B', { kind: 'label', key: 'K', value: 'a=B' }],
    ['bind:*=*', { kind: 'label', key: '*', value: '*' }],
    ['bind:a.example:80=x', { kind: 'label', key: 'a.example:80', value: 'x' }],
  ])('%s', (rule, parsed) => {
    expect(parseBindRule(rule, 0)).toEqual(parsed);
  });
});

/** `*.` and the name: 255 octets in all; the maximum is 253. */
const TOO_LONG_WITH_WILDCARD = `bind:*.${['a', 'b', 'c'].map((c) => c.repeat(63)).join('.')}.${'d'.repeat(61)}`;

describe('parseBindRule refuses', () => {
  it.each([
    [''],
    [' '],
    ['**'],
    [' *'],
    ['app.example.com'],
    ['Bind:app.example.com'],
    ['bind'],
    [' bind:a.example'],
    ['bind:'],
    ['bind: a.example'],
    ['bind:a.example '],
    ['bind:a b'],
    ['bind:"a.example"'],
    ['bind:a.example,b.example'],
    ['bind:https://a.example'],
    ['bind:a.example/path'],
    ['bind:a.example?'],
    ['bind:**'],
    ['bind:*:*'],
    ['bind:*:0'],
    ['bind:*:80-90'],
    ['bind:80'],
    ['bind:*.'],
    ['bind:*.*'],
    ['bind:*.*.example'],
    ['bind:*a.example'],
    ['bind:a.*.example'],
    ['bind:a*.example'],
    ['bind:a.*'],
    ['bind:＊.example'],
    ['bind:*.1.2.3.4'],
    ['bind:*.4'],
    ['bind:*.[::1]'],
    ['bind:*..example'],
    ['bind:a..example'],
    [TOO_LONG_WITH_WILDCARD],
    ['bind::80'],
    ['bind:a.example:'],
    ['bind:a.example:0'],
    ['bind:a.example:65536'],
    ['bind:a.example:**'],
    ['bind:a.example:80:90'],
    ['bind:a.example:4*'],
    ['bind:[::1'],
    ['bind:='],
    ['bind:=v'],
    ['bind:a*=b'],
    ['bind:**=b'],
    ['bind:a=*b'],
    ['bind:a=b*'],
    ['bind:a=**'],
    ['bind:k=\0'],
    ['bind:k\n=v'],
    ['bind:k=\u007f'],
    ['bind:k=\u0085'],
    ['bind:k=\ud800'],
    ['bind:\udc00=v'],
    ['bind:a.example\n'],
    ['*\n'],
    [null],
    [7],
    [{}],
    [['*']],
  ])('%j', (rule) => {
    const problem = problemOf(() => parseBindRule(rule, 1));
    expect(problem).toMatchObject({ problem: 'acl_rule_invalid', code: 'ERR_NGROK_600', status: 400 });
    expect(problem.message).toMatch(/^acl\[1\] /);
  });

  it.each([
    [
      'bind:https://a',
      "acl[0] 'bind:https://a' is not a bind rule: it holds a URL; write the host alone, as in 'bind:app.example.com'.",
    ],
    ['bind:a..b', "acl[0] 'bind:a..b' is not a bind rule: the host has an empty label."],
    ['a', "acl[0] 'a' is not a bind rule: a rule is '*' or begins with 'bind:'."],
    ['bind:k=\n', "acl[0] 'bind:k=\\u{a}' is not a bind rule: it holds a control character."],
    [7, "acl[0] must be a string such as 'bind:app.example.com'."],
  ])('%j in these words: %s', (rule, message) => {
    expect(problemOf(() => parseBindRule(rule, 0)).message).toBe(message);
  });
});

describe('a text that people send as a rule is named as what it is', () => {
  it.each([
    ['bind:8000', "write 'bind:*:8000'"],
    ['permitlisten="8002"', 'an option of authorized_keys'],
    ['"bind:a.example"', 'in quotes'],
    ["'bind:*'", 'in quotes'],
    ['/var/run/x', 'a path'],
    ['bind:/tmp/x', 'a path'],
    ['~/x', 'a path'],
    ['{"bind":"a.example"}', 'JSON'],
    ['bind：a.example', "another spelling of 'bind:'"],
    ['bind a.example', "another spelling of 'bind:'"],
    ['bind:*:*', "write 'bind:*'"],
  ])('%s', (rule, says) => {
    expect(problemOf(() => parseBindRule(rule, 0))?.message).toContain(says);
  });
});
