import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { parseTunnelDomain, TunnelDomain } from './tunnel-domain.js';

const domain = new TunnelDomain('https://Tunnels.example.test:8443');

describe('a name below the domain', () => {
  it('is given to a credential by the first 60 bits of the SHA-256 of its id, for ever the same', () => {
    expect(domain.givenName('sshcr_1')).toBe('x5spvqj7t2xm.tunnels.example.test');
    for (const id of ['sshcr_1', ...Array.from({ length: 200 }, (_, n) => `sshcr_of_${n}`)]) {
      const digits = createHash('sha256').update(id).digest('hex').slice(0, 15);
      expect(domain.digitsOf(domain.givenName(id))).toBe(digits);
    }
    expect(domain.digitsOf('shop.tunnels.example.test')).toBeUndefined();
  });

  it.each([
    ['app.tunnels.example.test', 'https://app.tunnels.example.test:8443'],
    ['*.tunnels.example.test', undefined],
    ['tunnels.example.test', undefined],
    ['app.example.test', undefined],
    ['apptunnels.example.test', undefined],
  ])('%s has the URL %s', (name, url) => {
    expect(domain.urlOf(name)).toBe(url);
  });

  it.each([
    ['abcdefghij27.tunnels.example.test', true],
    ['abcdefghij2.tunnels.example.test', false],
    ['abcdefghij28.tunnels.example.test', false],
    ['x.abcdefghij27.tunnels.example.test', false],
    ['abcdefghij27.example.test', false],
  ])('%s has the form of a given name: %s', (name, isGiven) => {
    expect(domain.isGiven(name)).toBe(isGiven);
  });

  it.each([
    ['tunnels.example.test', true],
    ['*.tunnels.example.test', true],
    ['*.a.tunnels.example.test', true],
    ['*.example.test', true],
    ['*.test', true],
    ['app.tunnels.example.test', false],
    ['example.test', false],
    ['*.els.example.test', false],
    ['*.other.test', false],
  ])('%s is shared by all credentials: %s', (name, isShared) => {
    expect(domain.isShared(name)).toBe(isShared);
  });
});

it.each([
  ['ftp://tunnels.example.test', 'must be a URL'],
  ['https://tunnels.example.test/a', 'must not have a path'],
  ['https://tunnels', 'two labels or more'],
  ['https://127.0.0.1', 'two labels or more'],
  ['https://[::1]', 'two labels or more'],
])('%s is no such domain', (url, sentence) => {
  expect(() => parseTunnelDomain(url)).toThrow(sentence);
});
