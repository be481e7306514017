import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readCorpus } from '../../../test/corpus/public-key-corpus.js';
import { problemOf } from '../../../test/support/problems.js';
import { Problem } from '../../kernel/problem.js';
import { DEFAULT_KEY_POLICY, parseDeniedFingerprints, parsePublicKey } from './public-key.js';
import { MAX_PUBLIC_KEY_BYTES } from './public-key-type.js';
import { wireOf } from './public-key-wire.js';

const ED25519 = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBVGEJVQ9Q6pEQBFuzFcnxx7aQdLTXXdOTcNBXNVWLE4';

const refusalOf = (text: unknown, policy = DEFAULT_KEY_POLICY): Problem =>
  problemOf(() => parsePublicKey(text, policy));

const accepted = readCorpus().filter((entry) => entry.says === undefined);

describe('parsePublicKey', () => {
  it('gives type, size, wire form and fingerprint', () => {
    const key = parsePublicKey(`${ED25519} me@work\n`);
    const blob = Buffer.from(ED25519.split(' ')[1] ?? '', 'base64');
    const fingerprint = `SHA256:${createHash('sha256').update(blob).digest('base64').slice(0, 43)}`;
    expect(key).toEqual({ type: 'ssh-ed25519', bits: 256, blob, fingerprint });
  });

  it.each([undefined, null, '', ' ', '\r\n\t\n', '\u00a0', '\ufeff'])('calls %j missing', (text) => {
    expect(refusalOf(text)).toMatchObject({ problem: 'public_key_missing', code: 'ERR_NGROK_611' });
  });

  it.each([[0], [true], [[]], [[ED25519]], [{ toString: () => ED25519 }], [Buffer.from(ED25519)], [Symbol('x')]])(
    'refuses what is not a string: %p',
    (value) => {
      expect(refusalOf(value)).toMatchObject({
        problem: 'public_key_invalid',
        message: expect.stringContaining('string'),
      });
    },
  );

  it('accepts a text of exactly the limit, and names length and limit of a longer one', () => {
    const longest = `${ED25519} `.padEnd(MAX_PUBLIC_KEY_BYTES, 'x');
    expect(parsePublicKey(longest).bits).toBe(256);
    expect(refusalOf(`${longest}x`).message).toBe('public_key is 16385 bytes long; the maximum is 16384.');
  });

  it('counts the limit in bytes of UTF-8', () => {
    expect(refusalOf(`${ED25519} ${'é'.repeat(8192)}`).message).toContain('the maximum is 16384');
  });

  it('asks a caller who pasted a private key for a new pair, before any other check', () => {
    const { message, details } = refusalOf(`\0${ED25519} -----BEGIN OPENSSH PRIVATE KEY-----`);
    expect(message).toMatch(/private key.*make a new pair.*only the public half/);
    expect(details).toEqual({});
  });

  it('finds a private key wherever it is in the text', () => {
    const marks = [
      '-----BEGIN PRIVATE KEY-----',
      'PuTTY-User-Key-File-3:',
      'Private-key-format: v1.3',
      'AGE-SECRET-KEY-1Q',
    ];
    const padding = fc.string({ unit: 'grapheme', maxLength: 200 });
    fc.assert(
      fc.property(padding, fc.constantFrom(...marks), padding, (before, mark, after) => {
        expect(refusalOf(`${before}${mark}${after}`).message).toContain('private key');
      }),
    );
  });

  it('refuses private fields in a key of public wire form, which sshpk would accept and keep', () => {
    const seed = randomBytes(32);
    const point = parsePublicKey(ED25519).blob.subarray(-32);
    const blob = wireOf('ssh-ed25519', point, Buffer.concat([seed, point]));
    expect(refusalOf(`ssh-ed25519 ${blob.toString('base64')}`).message).toContain('bytes after the end');
  });

  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const ssh2 = `---- BEGIN SSH2 PUBLIC KEY ----\n${ED25519.slice(12)}\n---- END SSH2 PUBLIC KEY ----\n`;
  const pem =
    '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAaR245NW/G+llk4fguDMfxcZKGHoFkFQEe6rhos35De0=\n-----END PUBLIC KEY-----';
  it.each([
    ['a user name of cloud metadata', `dana:${ED25519} dana@example.com`, /user name before its type/],
    ['a PEM that YAML indented', pem.replace(/^/gm, '    '), /blanks in front of its lines/],
    ['a whole file in base64', base64(`${ED25519} dana@laptop\n`), /a whole file in base64/],
    ['the same in lines', base64(`${ED25519} dana@laptop\n`).replace(/.{40}/g, '$&\r\n'), /a whole file in base64/],
    ['a whole PEM in base64', base64(pem), /a whole file in base64/],
    ['a private key in base64', base64('-----BEGIN OPENSSH PRIVATE KEY-----\n'), /make a new pair/],
    ['keys joined by a semicolon', `${ED25519} a;${ED25519} b`, /more than one key/],
    ['keys joined without a comment', `${ED25519};${ED25519}`, /more than one key/],
    ['keys joined by a comma', `${ED25519} a,${ED25519}`, /more than one key/],
    ['keys joined by a backslash and n', String.raw`${ED25519} a\n${ED25519} b`, /more than one key/],
    ['keys joined by a line break of a URL', `${ED25519}%0A${ED25519}`, /more than one key/],
    ['a line in double quotes', `"${ED25519} dana"`, /is in quotes/],
    ['a line in single quotes', ` '${ED25519}'\n`, /is in quotes/],
    ['base64 alone', ED25519.slice(12), /without its type/],
    ['base64 with a comment', `${ED25519.slice(12)} dana`, /without its type/],
    ['a path', '~/.ssh/id_ed25519.pub', /is the path of a file/],
    ['a path of Windows', String.raw`C:\Users\Dana K\.ssh\id_rsa.pub`, /is the path of a file/],
    ['a name of a file', 'id_ed25519.pub', /is the path of a file/],
    ['a path of curl', '@./laptop.pub', /is the path of a file/],
    [
      'RFC 4716 with five dashes',
      ssh2.replace(/----/g, '-----').replace(/- (?=BEGIN|END)|(?<=KEY) -/g, '-'),
      /five dashes/,
    ],
  ])('names the cause of a refusal: %s', (_, text, says) => {
    expect(refusalOf(text)).toMatchObject({ problem: 'public_key_invalid', message: expect.stringMatching(says) });
  });

  it('accepts only the types of its list', () => {
    for (const type of ['constructor', '__proto__', 'hasOwnProperty', 'ssh-rsa ', 'SSH-RSA', '']) {
      const blob = wireOf(type, randomBytes(32)).toString('base64');
      expect(refusalOf(`${type || '""'} ${blob}`).problem).toBe('public_key_invalid');
      expect(refusalOf(`ssh-rsa ${blob}`).problem).toBe('public_key_invalid');
    }
  });
});

describe('the policy on keys', () => {
  const rsa = (modulusLength: number) =>
    generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'pem', type: 'spki' }).toString();

  it('names the size of a short RSA key and the minimum', () => {
    const text = rsa(1024);
    expect(refusalOf(text).message).toMatch(/of 1024 bits; the minimum is 2048\./);
    expect(parsePublicKey(text, { ...DEFAULT_KEY_POLICY, minRsaBits: 1024 }).bits).toBe(1024);
  });

  it('applies the minimum size to RSA only', () => {
    expect(parsePublicKey(ED25519, { ...DEFAULT_KEY_POLICY, minRsaBits: 4096 }).bits).toBe(256);
  });

  it('refuses a denied key in every text form, with a message of its own', () => {
    const forms = accepted.filter((entry) => entry.key === 'rsa 2048 #1').map((entry) => entry.text);
    const deniedFingerprints = new Set(forms.map((text) => parsePublicKey(text).fingerprint));
    expect(deniedFingerprints.size).toBe(1);
    for (const text of forms) {
      expect(refusalOf(text, { ...DEFAULT_KEY_POLICY, deniedFingerprints }).message).toContain('never accepts');
    }
  });
});

describe('parseDeniedFingerprints', () => {
  const { fingerprint } = parsePublicKey(ED25519);

  it('reads one fingerprint per line and skips comments and blank lines', () => {
    const text = `\ufeff# published keys\r\n\r\n  ${fingerprint}  # from a blog post\n${fingerprint}\n\n#SHA256:x`;
    expect([...parseDeniedFingerprints(text)]).toEqual([fingerprint]);
  });

  it.each([
    `256 ${fingerprint} me@work (ED25519)`,
    `3072 ${fingerprint} no comment (RSA)`,
    `256 ${fingerprint} a # b (ED25519)`,
    `256 ${fingerprint}`,
  ])('reads a line of ssh-keygen -l: %s', (line) => {
    expect([...parseDeniedFingerprints(line)]).toEqual([fingerprint]);
  });

  it('is empty for an empty file', () => {
    expect(parseDeniedFingerprints('').size).toBe(0);
  });

  it.each([
    `${fingerprint}=`,
    fingerprint.slice(0, -1),
    `${fingerprint.slice(0, -1)}B`,
    fingerprint.slice('SHA256:'.length),
    `MD5:${'00:'.repeat(15)}00`,
    `256 MD5:${'00:'.repeat(15)}00 me (ED25519)`,
    `${fingerprint} me`,
    ED25519,
  ])('names the line without a valid fingerprint: %s', (line) => {
    expect(() => parseDeniedFingerprints(`# list\n${line}\n`)).toThrow(/^line 2 of the denied keys/);
  });
});
