import { describe, expect, it } from '@jest/globals';
import { runCli } from '../support/process.js';

/** No server has this address: the command must not look for one. */
const NO_DATABASE = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' };

const aclCheck = (...words: string[]) => runCli(NO_DATABASE, 'acl', 'check', ...words);

describe('tunnel-access acl check', () => {
  it.each([
    [['bind:elsewhere.example', 'bind:*.example.com', 'bind:app.example.com'], 'app.example.com', 'bind:*.example.com'],
    [['bind:app.example.com:443'], 'APP.example.com.:443', 'bind:app.example.com:443'],
    [['bind:app.example.com'], 'app.example.com:0', 'bind:app.example.com'],
    [['bind:[2001:db8::1]:80'], '[2001:db8:0::1]:80', 'bind:[2001:db8::1]:80'],
    [['bind:team=*'], 'team=a=b', 'bind:team=*'],
    [['bind:team='], 'team=', 'bind:team='],
    [['bind:team=blue', '*'], 'anything.example', '*'],
  ])('ends with 0 and names the first of the rules that permits: %j %s', async (rules, target, rule) => {
    expect(await aclCheck(...rules, target)).toEqual({ code: 0, stdout: `permitted by ${rule}\n`, stderr: '' });
  });

  it.each([
    [['bind:app.example.com:443'], 'app.example.com', '; it needs the rule bind:app.example.com'],
    [['bind:app.example.com:443', 'bind:k=v'], 'app.example.com:80', '; it needs the rule bind:app.example.com:80'],
    [['bind:*.example.com'], 'example.com', '; it needs the rule bind:example.com'],
    [['bind:*=*'], 'app.example.com', '; it needs the rule bind:app.example.com'],
    [['bind:app.example.com:*'], 'app.example.com:0', '; it needs the rule bind:app.example.com'],
    [['bind:team=blue'], 'team=red*', ''],
  ])('ends with 1 if no rule permits it, and names the rule that would: %j %s', async (rules, target, needs) => {
    const stdout = `refused: no rule permits it${needs}\n`;
    expect(await aclCheck(...rules, target)).toEqual({ code: 1, stdout, stderr: '' });
  });

  it.each([
    [['bind:a.example', 'b.example', 'c.example'], "rule 2, 'b.example' is not a bind rule: a rule is '*' or begins"],
    [['bind:a.example:0', 'a.example'], "rule 1, 'bind:a.example:0' is not a bind rule: the port must be"],
    [['bind:a.example', 'bind:b.example'], 'the last word is a rule; end with the target, such as app.example.com:443'],
    [['a.example'], 'there is no rule before the target; a credential without rules permits everything'],
    [['*', 'https://a.example'], 'the target is a URL; write the host alone, as in app.example.com:443'],
    [['*', '::1'], "address '::1' cannot be bound: only an IPv6 address holds more than one colon"],
    [['*', '10.0.0.1'], "domain '10.0.0.1' cannot be bound: it is an address; ask for it as address, with a port"],
    [['*', '=blue'], "label '=blue' cannot be bound: the label key is empty"],
    [[], "error: missing required argument 'words'"],
  ])('ends with 2 and the reason for %j', async (words, message) => {
    const { code, stdout, stderr } = await aclCheck(...words);
    expect([code, stdout, stderr.slice(0, message.length)]).toEqual([2, '', message]);
  });
});
