import { describe, expect, it } from '@jest/globals';
import { Strangers } from './strangers.js';

const admitted = (strangers: Strangers, addresses: readonly string[]): number =>
  addresses.filter((address) => strangers.take(address) !== undefined).length;
const times = <T>(count: number, value: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => value(n));

describe('the places for strangers', () => {
  it('count a /64 of IPv6 as one address, and an IPv4-mapped address as IPv4', () => {
    const strangers = new Strangers(100);
    expect(
      admitted(
        strangers,
        times(20, (n) => `2001:db8::${n}`),
      ),
    ).toBe(10);
    expect(admitted(strangers, ['2001:db8:0:1::1', 'fe80::1%eth0'])).toBe(2);
    expect(admitted(strangers, [...times(6, () => '192.0.2.1'), ...times(6, () => '::ffff:192.0.2.1')])).toBe(10);
  });

  it('give one address at least 5, and all addresses no more than the maximum', () => {
    expect(
      admitted(
        new Strangers(20),
        times(9, () => '192.0.2.1'),
      ),
    ).toBe(5);
    expect(
      admitted(
        new Strangers(20),
        times(30, (n) => `192.0.2.${n}`),
      ),
    ).toBe(20);
    expect(
      admitted(
        new Strangers(1),
        times(3, () => '192.0.2.1'),
      ),
    ).toBe(1);
  });

  it('come back once each', () => {
    const strangers = new Strangers(2);
    const leave = strangers.take('192.0.2.1');
    strangers.take('192.0.2.2');
    leave?.();
    leave?.();
    expect(admitted(strangers, ['192.0.2.3', '192.0.2.4'])).toBe(1);
  });
});
