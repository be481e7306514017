import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readCorpus } from '../../../test/corpus/public-key-corpus.js';
import { problemOf } from '../../../test/support/problems.js';
import { parsePublicKey } from './public-key.js';
import { MAX_PUBLIC_KEY_BYTES, PRIVATE_KEY_SENTENCE } from './public-key-type.js';

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBVGEJVQ9Q6pEQBFuzFcnxx7aQdLTXXdOTcNBXNVWLE4';
const inComment = (comment: string): string => `${KEY} ${comment}`;
const inHeader = (comment: string): string => {
  const base64 = KEY.split(' ')[1];
  return `---- BEGIN SSH2 PUBLIC KEY ----\nComment: "${comment}"\n${base64}\n---- END SSH2 PUBLIC KEY ----\n`;
};

/** Files with a private key, and what is between their BEGIN and END lines. One with a passphrase in PEM is noise there. */
const files = readCorpus()
  .filter(({ what, text }) => /^private: (?!.* labelled )/.test(what) && /^-----BEGIN .*\n/.test(text))
  .map(({ text }) => text);
const bodies = files
  .filter((text) => !text.includes('Proc-Type') && !text.includes('\\n'))
  .map((text) => Buffer.from(/PRIVATE KEY-----([^-]+)/.exec(text)?.[1] ?? '', 'base64'));
const secrets = fc.oneof(fc.constantFrom(...files.map((text) => Buffer.from(text))), fc.constantFrom(...bodies));

const cut = (text: string, width: number, by: string): string =>
  (text.match(new RegExp(`.{1,${width}}`, 'g')) ?? []).join(by);
/** As programs write bytes. */
const encodings = fc.constantFrom<(bytes: Buffer) => string>(
  (bytes) => bytes.toString('base64'),
  (bytes) => cut(bytes.toString('base64'), 76, '\n'),
  (bytes) => bytes.toString('base64url'),
  (bytes) => bytes.toString('hex'),
  (bytes) => cut(bytes.toString('hex').toUpperCase(), 2, ':'),
);
const PLAIN = /[^\x20-\x7e]/g;

describe('a private key beside a public one', () => {
  it('is refused in each encoding, twice encoded, cut anywhere by blanks, and after any word', () => {
    const around = fc.string({ maxLength: 30 });
    const many = fc.array(encodings, { minLength: 1, maxLength: 2 });
    const by = fc.constantFrom(' ', '  ', '\t', ' ; ', '\\n');
    fc.assert(
      fc.property(
        secrets,
        many,
        around,
        fc.integer({ min: 3, max: 99 }),
        by,
        (secret, encode, before, width, blank) => {
          const encoded = encode.reduce((bytes, one) => Buffer.from(one(bytes)), secret).toString();
          const comment = `${before} ${cut(encoded.replaceAll('\n', ' '), width, blank)}`;
          for (const text of [
            inComment(comment),
            inHeader(blank === '\\n' ? comment : comment.replace(/.{60}/g, '$&\\\n')),
          ]) {
            if (text.length > MAX_PUBLIC_KEY_BYTES) return;
            expect(problemOf(() => parsePublicKey(text)).message).toBe(PRIVATE_KEY_SENTENCE);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('a comment that holds no private key', () => {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const der = (type: 'spki' | 'pkcs1'): Buffer => publicKey.export({ type, format: 'der' });
  const base64 = (bytes: Buffer): string => bytes.toString('base64');
  const blobOf = (type: string): string =>
    readCorpus()
      .find(({ says, text }) => says === undefined && text.startsWith(type))
      ?.text.split(' ')[1] ?? '';
  const numbers = fc.uint8Array({ minLength: 100, maxLength: 6_000 }).map((bytes) => Buffer.from(bytes));

  it.each([
    ['a public key in DER', base64(der('spki'))],
    ['a public key of PKCS#1 in hex', der('pkcs1').toString('hex')],
    ['a public JWK', `{"kty":"OKP","crv":"Ed25519","x":"${randomBytes(32).toString('base64url')}"}`],
    ['a public key of XML', `<RSAKeyValue><Modulus>${base64(randomBytes(256))}</Modulus></RSAKeyValue>`],
    ['other public keys', `${(KEY.split(' ')[1] ?? '').repeat(2)} ${blobOf('ssh-rsa').repeat(2)}`],
    ['a security key', blobOf('sk-ecdsa-sha2-nistp256@openssh.com')],
    ['a word that begins like a secret number', `AAAAI${'x'.repeat(60)}`],
    ['words', 'openssh-key-v1 of dana, private key on the blue token (not here)'],
    ['a fingerprint', 'SHA256:UNhY4JhezH9gQYqvDMWrWH9CwlcKiECVqejMrND2VFw'],
    ['a JWT', `${base64(Buffer.from('{"alg":"ES256"}'))}.${base64(Buffer.from('{"sub":"d","d":"x"}'))}`],
    ['a hash', randomBytes(32).toString('hex')],
  ])('is stored: %s', (_, comment) => {
    expect(parsePublicKey(inComment(comment)).type).toBe('ssh-ed25519');
  });

  it('is stored, whatever its words are', () => {
    const word = fc.oneof(
      fc.string({ maxLength: 200 }),
      fc.emailAddress(),
      fc.domain(),
      fc.uuid(),
      fc.json().map((text) => text.replace(PLAIN, '')),
      fc.base64String({ maxLength: 2_000 }),
      numbers.map((bytes) => bytes.toString('base64url')),
      numbers.map((bytes) => bytes.toString('hex').slice(0, 8_000)),
      numbers.map((bytes) => base64(Buffer.from(base64(bytes)))),
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 4 }), (words) => {
        const comment = words.join(' ').slice(0, MAX_PUBLIC_KEY_BYTES - KEY.length - 1);
        expect(parsePublicKey(inComment(comment)).type).toBe('ssh-ed25519');
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a hostile comment of 16 KiB', () => {
  const base64 = (text: string): string => Buffer.from(text, 'latin1').toString('base64');
  const many = (text: string, length = MAX_PUBLIC_KEY_BYTES): string => text.repeat(length / text.length + 1);
  it.each([
    ['one digit', many('0')],
    ['words of zeros', many('AAA ')],
    ['fields of one byte', many('AAAAAWEAAAABYQAAAAFh ')],
    ['short words', many(' x')],
    ['noise', randomBytes(12_300).toString('base64')],
    ['noise in hex', randomBytes(8_200).toString('hex')],
    ['noise in base64, four times', base64(base64(base64(randomBytes(3_900).toString('base64'))))],
    ['beginnings of JWK', many('"d":"')],
    ['beginnings of XML', many('<aaaaaaaaaaaaaaaa:D>')],
    ['beginnings of PKCS#8', base64(many('\x30\x82\x02\x01\x00\x30\x82\x02\x01\x06'))],
    ['runs that are almost encoded', base64(base64(many(`${'a'.repeat(39)}.`, 9_000)))],
    ['text that is base64 at each character', many('MzMz')],
    ['backslashes', many('\\')],
  ])('is answered in under 50 ms: %s', (_, comment) => {
    const text = inComment(comment).slice(0, MAX_PUBLIC_KEY_BYTES);
    const times = Array.from({ length: 5 }, () => {
      const before = process.cpuUsage();
      parsePublicKey(text);
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000;
    });
    expect(Math.min(...times)).toBeLessThan(50);
  });
});
