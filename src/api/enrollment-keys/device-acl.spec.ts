import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compile, parseTargetText, permits } from '../../rules/index.js';
import { aclOf, parseDeviceAcl, parseDeviceName } from './device-acl.js';

const device = { name: 'camera-7', addr: '1.tcp.example.com:20001' };

describe('the rules of a device', () => {
  it.each([
    [['bind:{name}.dev.example.com'], ['bind:camera-7.dev.example.com']],
    [['bind:*.{name}.example.com:443'], ['bind:*.camera-7.example.com:443']],
    [['bind:device={name}'], ['bind:device=camera-7']],
    [
      ['bind:{addr}', 'bind:shared.example.com'],
      ['bind:1.tcp.example.com:20001', 'bind:shared.example.com'],
    ],
  ])('%j are %j', (rules, expected) => {
    expect(aclOf(parseDeviceAcl(rules, true), device)).toEqual(expected);
  });

  it.each([
    [[]],
    [['bind:{name}']],
    [['bind:{name}.com']],
    [['bind:{name}.example.']],
    [['bind:a.b.{name}']],
    [['bind:x{name}.dev.example.com']],
    [['bind:{name}.{name}.example.com']],
    [['bind:a.example.com:{name}']],
    [['bind:{name}=x']],
    [['bind:k=a{name}']],
    [['bind:{addr}:1']],
    [['bind:{NAME}.dev.example.com']],
    [['bind:{name.dev.example.com']],
    [[`bind:{name}.${'long.'.repeat(40)}example.com`]],
    [[1]],
  ])('%j are refused', (rules) => {
    expect(() => parseDeviceAcl(rules, true)).toThrow(expect.objectContaining({ problem: 'acl_rule_invalid' }));
  });

  it('have an address only where one is reserved', () => {
    expect(() => parseDeviceAcl(['bind:{addr}'], false)).toThrow(/reserve_addr: true/);
  });

  it('permit no device the name of another, whatever both are called', () => {
    const names = fc.stringMatching(/^[a-z0-9-]{1,63}$/).filter((text) => isName(text));
    const rules = parseDeviceAcl(['bind:{name}.dev.example.com'], false);
    fc.assert(
      fc.property(names, names, (one, other) => {
        const acl = compile(aclOf(rules, { name: one, addr: null }));
        const { permitted } = permits(acl, parseTargetText(`${other}.dev.example.com`));
        expect(permitted).toBe(one === other);
      }),
    );
  });
});

const isName = (text: string): boolean => {
  try {
    return parseDeviceName(text) === text;
  } catch {
    return false;
  }
};

describe('the name of a device', () => {
  it.each(['a', 'camera-7', '7a', 'a--b', 'a'.repeat(63)])('may be %s', (name) => {
    expect(parseDeviceName(name)).toBe(name);
  });

  it.each(['', '1', '007', 'xn--a', 'A', 'a.b', '-a', 'a-', 'a_b', 'ä', 'a\n', '*', '{addr}', 'a'.repeat(64)])(
    'is not %j',
    (name) => {
      expect(() => parseDeviceName(name)).toThrow(expect.objectContaining({ problem: 'request_malformed' }));
    },
  );

  it('is asked for', () => {
    expect(() => parseDeviceName(undefined)).toThrow(/name is missing/);
  });
});
