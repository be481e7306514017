import { describe, expect, it } from '@jest/globals';
import { listenAddress } from './listen-address.js';

describe('the setting of an address to listen at', () => {
  it.each([
    ['127.0.0.1:9464', { host: '127.0.0.1', port: 9464 }],
    ['0.0.0.0:1', { host: '0.0.0.0', port: 1 }],
    ['[::1]:65535', { host: '::1', port: 65_535 }],
    ['metrics.internal:9464', { host: 'metrics.internal', port: 9464 }],
  ])('%s is an address and a port', (text, address) => {
    expect(listenAddress(1)(text)).toEqual(address);
  });

  it.each([
    '9464',
    ':9464',
    '127.0.0.1',
    '127.0.0.1:',
    '127.0.0.1:0',
    '::1:9464',
    '[x]:9464',
    '[127.0.0.1]:1',
    'a:65536',
    'http://a:1',
  ])('%s is refused with the form that is expected', (text) => {
    expect(() => listenAddress(1)(text)).toThrow(/^must be an address and a port from 1 to 65535, IPv6 in brackets$/);
  });

  it('a port that the system chooses is taken where nobody need know it before', () => {
    expect(listenAddress(0)('127.0.0.1:0')).toEqual({ host: '127.0.0.1', port: 0 });
  });
});
