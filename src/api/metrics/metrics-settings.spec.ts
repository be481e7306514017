import { describe, expect, it } from '@jest/globals';
import { parseMetricsAddress } from './metrics-settings.js';

describe('METRICS_LISTEN', () => {
  it.each([
    ['127.0.0.1:9464', { host: '127.0.0.1', port: 9464 }],
    ['0.0.0.0:1', { host: '0.0.0.0', port: 1 }],
    ['[::1]:65535', { host: '::1', port: 65_535 }],
    ['metrics.internal:9464', { host: 'metrics.internal', port: 9464 }],
  ])('%s is an address and a port', (text, address) => {
    expect(parseMetricsAddress(text)).toEqual(address);
  });

  it.each([
    '9464',
    ':9464',
    '127.0.0.1',
    '127.0.0.1:',
    '::1:9464',
    '[x]:9464',
    '[127.0.0.1]:1',
    'a:65536',
    'http://a:1',
  ])('%s is refused with the form that is expected', (text) => {
    expect(() => parseMetricsAddress(text)).toThrow(
      /^must be an address and a port from 1 to 65535, IPv6 in brackets$/,
    );
  });

  it('a port that the system would choose is refused', () => {
    expect(() => parseMetricsAddress('127.0.0.1:0')).toThrow(/^must name the port/);
  });
});
