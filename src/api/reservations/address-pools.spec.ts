import { describe, expect, it } from '@jest/globals';
import { parsePools, poolOf, poolsOf, randomAddresses, serves, withPublicHost } from './address-pools.js';

const EU = { host: '1.tcp.example.com', from: 20_000, to: 20_009, region: 'eu' };
const ANY = { host: 'tcp.example.com', from: 30_000, to: 30_000, region: '' };

describe('ADDRESS_POOL', () => {
  it('has pools with and without a region, of several ports and of one', () => {
    expect(parsePools('eu=1.TCP.example.com.:20000-20009, tcp.example.com:30000')).toEqual([EU, ANY]);
    expect(parsePools('[2001:DB8::1]:20-30')).toEqual([{ host: '[2001:db8::1]', from: 20, to: 30, region: '' }]);
  });

  it('may have a host twice, with other ports', () => {
    expect(parsePools('a.example.com:1-5,b.example.com:1-5,a.example.com:6-9')).toHaveLength(3);
  });

  it.each([
    ['a.example.com', /^must be host:from-to or region=host:from-to$/],
    ['a.example.com:1-2,', /^must be host:from-to or region=host:from-to$/],
    ['a.example.com:5-2', /its ports begin with 5 and end with 2$/],
    ['a.example.com:0-2', /the port must be a whole number from 1 to 65535$/],
    ['a.example.com:1-70000', /the port must be a whole number from 1 to 65535$/],
    ['*.example.com:1-2', /the host holds '\*'/],
    ['a.example.com:1-5,eu=A.example.com:5-9', /^has ports of a\.example\.com twice: 1-5 and 5-9$/],
    [Array.from({ length: 101 }, (_, n) => `a.example.com:${n + 1}`).join(), /^has 101 pools; the maximum is 100$/],
  ])('is refused as %s', (text, sentence) => {
    expect(() => parsePools(text)).toThrow(sentence);
  });
});

describe('the pools of a region', () => {
  it('are those that name it, and those that name none', () => {
    expect(poolsOf([EU, ANY], 'eu')).toEqual([EU, ANY]);
    expect(poolsOf([EU, ANY], 'us')).toEqual([ANY]);
    expect(poolsOf([EU, ANY], '')).toEqual([EU, ANY]);
    expect([serves(EU, 'us'), serves(EU, ''), serves(ANY, 'us')]).toEqual([false, true, true]);
  });

  it('are refused if there are none, with the regions that there are', () => {
    expect(() => poolsOf([EU], 'us')).toThrow("No address pool has the region 'us'; the pools have eu.");
    expect(() => poolsOf([], '')).toThrow(/ADDRESS_POOL/);
  });

  it('hold an address by its host and port, and a wildcard that covers the host', () => {
    const pool = (host: string, port: number) => poolOf([EU, ANY], host, port);
    expect([pool(EU.host, 20_000), pool(EU.host, 20_009), pool('*.tcp.example.com', 20_009)]).toEqual([EU, EU, EU]);
    expect(pool('*.example.com', 30_000)).toBe(ANY);
    expect([pool(EU.host, 20_010), pool('2.tcp.example.com', 20_000), pool('*.cp.example.com', 20_000)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('give each of their addresses at random, and no other one', () => {
    const given = new Set(Array.from({ length: 100 }, () => randomAddresses([EU, ANY], 20)).flat());
    const all = Array.from({ length: 10 }, (_, n) => `1.tcp.example.com:${20_000 + n}`);
    expect([...given].sort()).toEqual([...all, 'tcp.example.com:30000'].sort());
  });
});

it('the host of the public URL is unreservable, beside those that the operator names', () => {
  const policy = { addressPools: [], reservationRestMs: 0, maxReservations: 1, unreservableHosts: ['a.example.com'] };
  const hosts = (publicUrl: string | undefined) => withPublicHost(policy, publicUrl).unreservableHosts;
  expect(hosts(undefined)).toEqual(['a.example.com']);
  expect(hosts('https://API.Example.com.:8443/base')).toEqual(['a.example.com', 'api.example.com']);
  expect(hosts('https://b\u00fcro.example.com')).toEqual(['a.example.com', 'xn--bro-hoa.example.com']);
});
