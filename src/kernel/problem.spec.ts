import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { quoted } from './problem.js';

describe('quoted shows', () => {
  it.each([
    ['plain ünïcode', "'plain ünïcode'"],
    ['', "''"],
    ['a\r\nb\0\u001b[31m', "'a\\u{d}\\u{a}b\\u{0}\\u{1b}[31m'"],
    ['\u202e\u2028\ud800', "'\\u{202e}\\u{2028}\\u{d800}'"],
    ['bind:*.example.com', "'bind:*.example.com'"],
    ['bind:env=production', "'bind:env=production'"],
    ['tcp.example.com:70000', "'tcp.example.com:70000'"],
    ['[2001:db8::1]:70000', "'[2001:db8::1]:70000'"],
    ['2999-01-01T00:00:00.123+02:00', "'2999-01-01T00:00:00.123+02:00'"],
    ['edgtcp_3MSH1YH1pfqRL0tXy3dC8OFwmhq', "'edgtcp_3MSH1YH1pfqRL0tXy3dC8OFwmhq'"],
  ])('%j as %s', (text, shown) => {
    expect(quoted(text)).toBe(shown);
  });
});

describe('quoted shows only the length of', () => {
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  it.each([
    ['a bootstrap key of the minimal length', 'x'.repeat(16)],
    ['a private key', pem],
    ['a line of a private key', pem.split('\n')[1] ?? ''],
    ['a private key with blanks', pem.replaceAll('\n', ' ')],
    ['an API key', `${'3MSH1YH1pfqRL0tXy3dC8OFwmhq'}_Tv4pG1a9x2k6Qw8ZrB0mLsYcUdHeJfNo`],
    ['an API key as the host of a rule', 'bind:3MSH1YH1pfqRL0tXy3dC8OFwmhq_Tv4pG1a9x2k6Qw8ZrB0mLsYcUdHeJfNo.com'],
    ['a UUID', '550e8400-e29b-41d4-a716-446655440000'],
    ['a long word in front of an id', `${'x'.repeat(20)}_3MSH1YH1pfqRL0tXy3dC8OFwmhq`],
    ['many short words', 'a.'.repeat(33)],
    ['a text outside of the plain signs', 'correct horse battery staple'],
  ])('%s', (_, secret) => {
    expect(quoted(secret)).toBe(`(${secret.length} characters, not shown)`);
  });

  it('any random token, in each usual encoding, alone and inside of another text', () => {
    const bytes = fc.integer({ min: 16, max: 64 }).map((length) => randomBytes(length));
    const encoding = fc.constantFrom<BufferEncoding>('hex', 'base64', 'base64url');
    const around = fc.constantFrom(['', ''], ['bind:', ''], ['bind:*.', '.com'], ['', ':443'], ['bind:k=', '']);
    fc.assert(
      fc.property(bytes, encoding, around, (secret, into, [before, after]) => {
        const text = secret.toString(into);
        expect(quoted(`${before}${text}${after}`)).not.toContain(text.slice(0, 16));
      }),
    );
  });
});
