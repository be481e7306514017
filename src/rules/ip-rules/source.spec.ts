import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sourceOf } from './source.js';

describe('sourceOf', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:c000:0207', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8::/64'],
    ['::1', '::/64'],
    ['fe80::1%eth0', 'fe80::/64'],
    ['192.0.2.7:22', '192.0.2.7'],
    ['[2001:db8::1%eth0]:22', '2001:db8::/64'],
    ['', 'unknown'],
    ['x'.repeat(10_000), 'unknown'],
  ])('%p counts as %p', (address, source) => {
    expect(sourceOf(address)).toBe(source);
  });

  it('is the same for all addresses of a /64 and differs between them', () => {
    const hex = fc.integer({ min: 1, max: 0xffff }).map((n) => n.toString(16));
    const half = fc.tuple(hex, hex, hex, hex).map((groups) => groups.join(':'));
    fc.assert(
      fc.property(half, half, half, half, (net, otherNet, host, otherHost) => {
        expect(sourceOf(`${net}:${host}`)).toBe(sourceOf(`${net}:${otherHost}`));
        expect(sourceOf(`${net}:${host}`) === sourceOf(`${otherNet}:${host}`)).toBe(net === otherNet);
      }),
    );
  });
});
