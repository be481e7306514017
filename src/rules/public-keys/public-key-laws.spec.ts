import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readCorpus } from '../../../test/corpus/public-key-corpus.js';
import { Problem } from '../../kernel/problem.js';
import { type PublicKey, parsePublicKey } from './public-key.js';
import { mpint, wireOf } from './public-key-wire.js';

const ED25519 = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBVGEJVQ9Q6pEQBFuzFcnxx7aQdLTXXdOTcNBXNVWLE4';
const accepted = readCorpus().filter((entry) => entry.says === undefined);
const anyAccepted = fc.constantFrom(...accepted.map((entry) => entry.text));

const lineOf = ({ type, blob }: Pick<PublicKey, 'type' | 'blob'>): string => `${type} ${blob.toString('base64')}`;

describe('laws of public keys', () => {
  const word = fc.constantFrom(
    ...['ssh-rsa', 'ssh-ed25519', 'ecdsa-sha2-nistp256', 'AAAA', 'restrict', '-----BEGIN PUBLIC KEY-----'],
    ...['-----END PUBLIC KEY-----', '---- BEGIN SSH2 PUBLIC KEY ----', '---- END SSH2 PUBLIC KEY ----', 'Comment: x\\'],
    ...[' ', '\n', '\t', '\r\n', '=', ED25519, '-----BEGIN RSA PUBLIC KEY-----', 'MIIB', '\ud800'],
  );
  const keyLike = fc.array(fc.oneof(word, fc.base64String(), fc.string())).map((words) => words.join(''));

  it('throws only Problems, for any input', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.string({ unit: 'binary' }), keyLike), (text) => {
        onlyProblems(() => parsePublicKey(text));
      }),
      { numRuns: 300 },
    );
  });

  it('throws only Problems, for any wire form', () => {
    const type = fc.constantFrom('ssh-rsa', 'ssh-ed25519', 'ecdsa-sha2-nistp521', 'sk-ssh-ed25519@openssh.com');
    const fields = fc.array(fc.uint8Array({ maxLength: 140 }), { maxLength: 4 });
    fc.assert(
      fc.property(type, fields, (name, bytes) => {
        const blob = wireOf(name, ...bytes.map((b) => Buffer.from(b)));
        onlyProblems(() => parsePublicKey(`${name} ${blob.toString('base64')}`));
      }),
      { numRuns: 500 },
    );
  });

  it('reads the canonical line of a key as the same key', () => {
    fc.assert(
      fc.property(anyAccepted, (text) => {
        const key = parsePublicKey(text);
        expect(parsePublicKey(lineOf(key))).toEqual(key);
      }),
    );
  });

  it('gives another fingerprint if one bit of the key changes', () => {
    fc.assert(
      fc.property(anyAccepted, fc.nat(), fc.nat({ max: 7 }), (text, at, bit) => {
        const { type, blob, fingerprint } = parsePublicKey(text);
        const changed = Buffer.from(blob);
        const index = at % blob.length;
        changed[index] = (changed[index] ?? 0) ^ (1 << bit);
        expect(answerTo(lineOf({ type, blob: changed }))?.fingerprint).not.toBe(fingerprint);
      }),
      { numRuns: 300 },
    );
  });

  it('writes an RSA key in one way only', () => {
    const { blob } = parsePublicKey(accepted.find((entry) => entry.key === 'rsa 2048 #1')?.text);
    const modulus = blob.subarray(-256);
    const padded = wireOf('ssh-rsa', Buffer.of(1, 0, 1), Buffer.concat([Buffer.alloc(2), modulus]));
    expect(wireOf('ssh-rsa', Buffer.of(1, 0, 1), mpint(modulus))).toEqual(blob);
    expect(() => parsePublicKey(`ssh-rsa ${padded.toString('base64')}`)).toThrow('shortest form');
  });
});

function answerTo(text: unknown): PublicKey | undefined {
  try {
    return parsePublicKey(text);
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** Any other error fails the test. */
function onlyProblems(work: () => unknown): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
  }
}
