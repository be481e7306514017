import { describe, expect, it } from '@jest/globals';
import { type OwnedHost, TunnelDomain } from '../../rules/index.js';
import { parseOwnedHosts } from '../owned-hosts.js';
import { Ports } from '../ports.js';
import { questionAt, readBindRequest } from './bind-request.js';

const ports = new Ports({
  ...{
    bindPorts: [{ min: 1_024, max: 65_535 }],
    edgePorts: [],
    gatewayMetricsAddress: undefined,
    httpListen: undefined,
  },
  ...{ sshListen: { host: '127.0.0.1', port: 2_222 }, serviceUrl: 'http://127.0.0.1:8080' },
});
const questionsOf = (hosts: readonly OwnedHost[], address: string, port: number) =>
  readBindRequest(address, port, { hosts, ports, isHttp: false }).questions;

/** The other names of a bind of port 7001 at the first host. */
function aliasesAmong(hosts: string): readonly string[] | undefined {
  const owned = parseOwnedHosts(hosts);
  const target = questionAt(owned[0] as OwnedHost, 7_001, owned);
  return 'address' in target ? target.aliases : [];
}

describe('a bind at one host takes the port of another', () => {
  it.each([
    ['with the same address', '127.0.0.1,localhost=127.0.0.1', ['localhost:7001']],
    ['with the same address in another spelling', 'a.test=2001:db8::1,b.test=[2001:db8:0::1]', ['b.test:7001']],
    ['with the same address, once', 'a.test=127.0.0.1,b.test=127.0.0.1,b.test=127.0.0.1', ['b.test:7001']],
    ['with an IPv4 address in IPv6', 'a.test=127.0.0.1,b.test=::ffff:127.0.0.1', ['b.test:7001']],
    ['with any address, if it is all of IPv4', 'a.test=0.0.0.0,127.0.0.1', ['127.0.0.1:7001']],
    ['that is all of IPv4', '127.0.0.1,a.test=0.0.0.0', ['a.test:7001']],
    ['with any address, if it is all of both', 'a.test=::,127.0.0.1,[::1]', ['127.0.0.1:7001', '[::1]:7001']],
    ['that is all of both', '127.0.0.1,a.test=::', ['a.test:7001']],
    ['that is all, though its own address has a zone', 'a.test=fe80::1%eth0,b.test=::', ['b.test:7001']],
    ['with the same zone', 'a.test=fe80::1%eth0,b.test=fe80::1%eth0', ['b.test:7001']],
  ])('%s', (_, hosts, aliases) => {
    expect(aliasesAmong(hosts)).toEqual(aliases);
  });

  it.each([
    ['with another address', '127.0.0.1,a.test=127.0.0.2'],
    ['of the other family, if it is all of IPv4', 'a.test=0.0.0.0,[::1]'],
    ['with another zone', 'a.test=fe80::1%eth0,b.test=fe80::1%eth1'],
    ['that there is not', '127.0.0.1'],
  ])('but not %s', (_, hosts) => {
    expect(aliasesAmong(hosts)).toBeUndefined();
  });
});

describe('the question about a bind', () => {
  const HOSTS = parseOwnedHosts('127.0.0.1,localhost=127.0.0.1');

  it('of a port has the other names of its address', () => {
    const target = { address: 'localhost:7001', aliases: ['127.0.0.1:7001'] };
    expect(questionsOf(HOSTS, 'LocalHost', 7_001)).toEqual([target]);
  });

  it('of port 0 has none, since nobody can reserve port 0', () => {
    expect(questionsOf(HOSTS, 'localhost', 0)).toEqual([{ address: 'localhost:0' }]);
  });

  it('of a domain or a label has none', () => {
    const targets = ['app.test', 'team=blue'].flatMap((name) => questionsOf(HOSTS, name, 0));
    expect(targets).toEqual([{ domain: 'app.test' }, { label: { key: 'team', value: 'blue' } }]);
  });

  it('has all names of the address, since the oldest reservation of them decides', () => {
    const hostsOf = (length: number) => Array.from({ length }, (_, n) => `host-${n}.test=0.0.0.0`).join(',');
    expect(aliasesAmong(hostsOf(1_000))).toHaveLength(999);
    expect(() => parseOwnedHosts(hostsOf(1_001))).toThrow('has 1001 hosts; the maximum is 1000');
  });
});

it.each([
  ['Shop.Example.com.', 'shop.example.com'],
  ['*.Shop.Example.com.', '*.shop.example.com'],
  ['*.b\u00fcro.example.com', '*.xn--bro-hoa.example.com'],
])('a bind of %s is asked about, and found again when a name is reserved, as %s', (address, domain) => {
  expect(questionsOf([], address, 0)).toEqual([{ domain }]);
});

it.each([
  ['team=a,b', "'b' is not a label; a comma separates labels, as in 'team=blue,app=web'"],
  ['team=a,=b', 'the label key is empty'],
  ['a=,b=,c=,d=,e=,f=,g=,h=,i=', 'it has 9 labels; the most is 8'],
])('a bind of malformed labels is refused: %s', (labels, sentence) => {
  expect(() => questionsOf([], labels, 0)).toThrow(sentence);
});

describe('below the domain of the service, a bind of', () => {
  const below = { domain: new TunnelDomain('https://tunnels.example.test'), givenName: 'given.tunnels.example.test' };
  const hosts = parseOwnedHosts('127.0.0.1,localhost=127.0.0.1,box=127.0.0.1');
  const read = (address: string, port: number) => readBindRequest(address, port, { hosts, ports, isHttp: true, below });

  it.each([
    ...['', '*', 'localhost'].flatMap((address) => [80, 443].map((port) => [address, port, 'given'] as const)),
    ...[0, 80, 443].map((port) => ['Shop', port, 'shop'] as const),
  ])("'%s' at port %d is the name %s", (address, port, name) => {
    expect(read(address, port)).toMatchObject({ target: { domain: `${name}.tunnels.example.test` } });
  });

  it.each(['app.example.test', '*.app.example.test'])('%s is that domain', (name) => {
    expect(read(name, 80).target).toEqual({ domain: name });
  });

  it.each([
    ['localhost', 9_000],
    ['localhost', 0],
    ['box', 9_000],
  ])('%s at port %d is a TCP port', (host, port) => {
    expect(read(host, port).target).toMatchObject({ host });
  });
});

describe('where the gateway serves HTTP, a domain', () => {
  const read = (port: number) => readBindRequest('app.example.test', port, { hosts: [], ports, isHttp: true });

  it.each([0, 80, 443])('is bound at port %d', (port) => {
    expect(read(port).target).toEqual({ domain: 'app.example.test' });
  });

  it('is refused at each other port, with the ports that it has', () => {
    expect(() => read(8_080)).toThrow('a domain serves HTTP, at the ports 0, 80 and 443, and not at 8080');
  });
});
