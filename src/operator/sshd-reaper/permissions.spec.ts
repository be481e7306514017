import { describe, expect, it } from '@jest/globals';
import { OverlappingNames } from '../../rules/index.js';
import { keepsRights, mayBind, mayPermit } from './permissions.js';

const HERE = '192.0.2.7';
const listen = (...binds: string[]): string =>
  ['restrict', 'port-forwarding', ...binds.map((bind) => `permitlisten="${bind}"`)].join(',');
const [ALL, NONE, A] = ['restrict,port-forwarding', 'restrict', listen('a.test:*')];
const from = (networks: string, options: string): string => options.replace('restrict', `restrict,from="${networks}"`);

describe('a session keeps its rights', () => {
  it.each([
    ['if nothing changed', [A], [A]],
    ['if it may bind more', [A], [listen('b.test:*', 'a.test:*')]],
    ['if it may bind everything', [A], [ALL]],
    ['if a pattern stands for the name', [listen('a.x.test:7')], [listen('*.test:*')]],
    ['if a pattern stands for a narrower one', [listen('*.a.test:7')], [listen('*.test:7')]],
    ['if every port stands for one', [listen('a.test:7')], [A]],
    ['if it could bind nothing', [NONE], [NONE]],
    ['if an expiry came that is not there yet', [A], [A.replace('restrict', 'restrict,expiry-time="20990101000000Z"')]],
    ['if its address is in the networks that came', [A], [from('198.51.100.0/24,192.0.2.0/24', A)]],
    ['by the line of its address', [from('192.0.2.0/24', A), ALL], [from('192.0.2.0/24', A), NONE]],
    ['if only others had a line', [from('2001:db8::/32', ALL), A], [A]],
  ])('%s', (_, then, now) => {
    expect(keepsRights(then, now, HERE)).toBe(true);
  });
});

describe('a session has lost a right', () => {
  it.each([
    ['if a name is missing', [listen('a.test:*', 'b.test:*')], [A]],
    ['if it could bind everything', [ALL], [listen('*.test:*')]],
    ['if it may bind nothing', [A], [NONE]],
    ['if one port is left', [A], [listen('a.test:7')]],
    ['if only names below are left', [listen('x.test:*')], [listen('*.x.test:*')]],
    ['if a name that only ends alike is left', [listen('evilx.test:*')], [listen('*.x.test:*')]],
    ['if no line admits its address', [A], [from('198.51.100.0/24', A)]],
    ['if networks of the other family came', [A], [from('2001:db8::/32', A)]],
    ['if every network of the other family came', [A], [from('::/0', A)]],
    ['by the line of its address', [from('192.0.2.0/24', ALL), A], [from('192.0.2.0/24', A), ALL]],
    ['if the log does not say what it had', undefined, [ALL]],
  ])('%s', (_, then, now) => {
    expect(keepsRights(then, now, HERE)).toBe(false);
  });

  it('if an IPv6 address is no longer in its network', () => {
    const [wide, narrow] = [from('2001:db8::/32', A), from('2001:db8::/64', A)];
    expect(keepsRights([wide], [narrow], '2001:db8::7')).toBe(true);
    expect(keepsRights([wide], [narrow], '2001:db8:1::7')).toBe(false);
  });
});

describe('a client may bind', () => {
  it.each([
    ['what its line lists', [listen('a.test:*', 'b.test:7')], ['a.test:1', 'b.test:7'], true],
    ['what a pattern of its line permits', [listen('*.test:*')], ['a.b.test:1'], true],
    ['anything, if its line lists nothing', [ALL], ['a.test:1', undefined], true],
    ['what the line of its address lists', [from('192.0.2.0/24', A), NONE], ['a.test:1'], true],
    ['not what only one for others lists', [from('198.51.100.0/24', A), NONE], ['a.test:1'], false],
    ['not more than its line lists', [A], ['a.test:1', 'b.test:1'], false],
    ['not all addresses, if its line lists names', [A], [undefined], false],
    ['nothing without a line', [from('198.51.100.0/24', A)], [], false],
  ])('%s', (_, lines, binds, expected) => {
    expect(mayBind(lines, HERE, binds)).toBe(expected);
  });
});

describe('a line may permit a bind', () => {
  const names = new OverlappingNames(['x.a.test:7001', '*.b.test']);

  it.each([
    ['at any name, if it lists none', [ALL], true],
    ['at a name that it lists', [listen('x.a.test:*')], true],
    ['at a name of its pattern', [NONE, listen('*.a.test:7001')], true],
    ['under a wildcard', [listen('y.b.test:1')], true],
    ['if it is not known', undefined, true],
    ['but not at another port', [listen('x.a.test:7002')], false],
    ['but not at another name', [listen('y.a.test:*', '[::1]:7001')], false],
    ['but not without forwarding', [NONE], false],
  ])('%s', (_, lines, expected) => {
    expect(mayPermit(lines, names)).toBe(expected);
  });
});
