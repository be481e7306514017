import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { checkpointText, parseCheckpoint, proofText } from './checkpoint.js';
import { COSIGNATURE, cosignNote, parseNote, parseVerifier, signerKey, signNote, verifierText } from './signed-note.js';

/** The key, note and signature of the examples of Go's package note, which defined the format. */
const SEED = Buffer.from('AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz', 'base64').subarray(1);
const VERIFIER = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
const TEXT = `If you think cryptography is the answer to your problem,
then you don't know what your problem is.
`;
const NOTE = `${TEXT}
\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=
`;

const key = signerKey('PeterNeumann', SEED);
const parsed = (text: string) => {
  const verifier = parseVerifier(text);
  if (verifier === undefined) throw new Error(`${text} is no key`);
  return verifier;
};

describe('a signed note', () => {
  it('is what the published example says', () => {
    expect(verifierText(key)).toBe(VERIFIER);
    expect(signNote(TEXT, key)).toBe(NOTE);
    expect(parseNote(NOTE)).toMatchObject({ text: TEXT });
    expect(parseNote(NOTE)?.isSignedBy(parsed(VERIFIER))).toBe(true);
  });

  it('is not signed by another key, nor of another name, nor after a change', () => {
    const other = signerKey('PeterNeumann', createHash('sha256').update('other').digest());
    expect(parseNote(NOTE)?.isSignedBy(other)).toBe(false);
    expect(parseNote(NOTE)?.isSignedBy(signerKey('Peter', SEED))).toBe(false);
    expect(parseNote(NOTE.replace('think', 'thank'))?.isSignedBy(key)).toBe(false);
  });

  it.each(['', TEXT, `${TEXT}\n`, NOTE.trimEnd(), `${NOTE}more\n`, NOTE.replace('\u2014', '-')])('is not %j', (note) =>
    expect(parseNote(note)).toBeUndefined(),
  );

  it.each(['', 'a+b', VERIFIER.replace('c74f', 'c74e'), VERIFIER.replace('+AR', '+BR')])('has no key %j', (text) =>
    expect(parseVerifier(text)).toBeUndefined(),
  );

  it('has no key with a control character in its name', () => {
    expect(parseVerifier(verifierText(signerKey('log\u009b2K', SEED)))).toBeUndefined();
    expect(parseVerifier(verifierText(signerKey('log\u001b[2K', SEED)))).toBeUndefined();
  });

  it('can be cosigned by a witness, whose signature covers the time', () => {
    const witness = signerKey('witness.example/w1', SEED, COSIGNATURE);
    const other = signNote(TEXT, signerKey(witness.name, SEED)).slice(TEXT.length + 1);
    const note = cosignNote(NOTE + other, key, witness, 1_679_315_147);
    const line = note.slice(NOTE.length);
    expect(note).toBe(NOTE + line);
    const cosigned = parseNote(note);
    expect([cosigned?.isSignedBy(parsed(verifierText(witness))), cosigned?.isSignedBy(key)]).toEqual([true, true]);
    const bytes = Buffer.from(line.split(' ')[2] ?? '', 'base64');
    expect(bytes.readBigUInt64BE(4)).toBe(1_679_315_147n);
    bytes[11] = 0;
    const later = `\u2014 ${witness.name} ${bytes.toString('base64')}\n`;
    expect(parseNote(NOTE + later)?.isSignedBy(witness)).toBe(false);
  });
});

describe('a checkpoint', () => {
  const root = createHash('sha256').digest();
  const text = checkpointText({ origin: 'example.com/ac_1', size: 20852163, root });

  it('is the text of a note, with further lines or without', () => {
    expect(text).toBe(`example.com/ac_1\n20852163\n${root.toString('base64')}\n`);
    expect(parseCheckpoint(text)).toEqual({ origin: 'example.com/ac_1', size: 20852163, root });
    expect(parseCheckpoint(`${text}more\n`)).toEqual(parseCheckpoint(text));
  });

  it.each([
    '',
    'a\n1\n',
    `a\n01\n${root.toString('base64')}\n`,
    `a\n${2 ** 53}\n${root.toString('base64')}\n`,
    'a\n1\nAAAA\n',
    text.trimEnd(),
    `a\u009b${text}`,
    `a\r${text}`,
  ])('is not %j', (other) => expect(parseCheckpoint(other)).toBeUndefined());

  it('ends the proof of a leaf', () => {
    expect(proofText(7, [root], 'note\n')).toBe(
      `c2sp.org/tlog-proof@v1\nindex 7\n${root.toString('base64')}\n\nnote\n`,
    );
  });
});
