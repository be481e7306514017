import { describe, expect, it } from '@jest/globals';
import { type CorpusEntry, readCorpus } from '../../../test/corpus/public-key-corpus.js';
import { Problem } from '../../kernel/problem.js';
import { type PublicKey, parsePublicKey } from './public-key.js';

/** Every text of the corpus, with the answer of ssh-keygen at the time when the corpus was made. */
const corpus = readCorpus();
const toAccept = corpus.filter((entry) => entry.says === undefined);
const toRefuse = corpus.filter((entry) => entry.says !== undefined);

function answerTo({ text }: CorpusEntry): PublicKey | Problem {
  try {
    return parsePublicKey(text);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

const isAccepted = (entry: CorpusEntry) => !(answerTo(entry) instanceof Problem);
const names = (entries: readonly CorpusEntry[]) => entries.map((entry) => entry.what);

describe('parsePublicKey, with the corpus of public keys', () => {
  it('is tested with hundreds of keys of either kind', () => {
    expect(toAccept.length).toBeGreaterThan(500);
    expect(toRefuse.length).toBeGreaterThan(350);
  });

  it('accepts every key to accept, and refuses every key to refuse', () => {
    expect(names(toAccept.filter((entry) => !isAccepted(entry)))).toEqual([]);
    expect(names(toRefuse.filter(isAccepted))).toEqual([]);
  });

  it('gives sizes and fingerprints as ssh-keygen does', () => {
    const ours = toAccept.map((entry) => {
      const { bits, fingerprint } = parsePublicKey(entry.text);
      return { what: entry.what, bits, fingerprint };
    });
    const theirs = toAccept.map(({ what, sshKeygen }, i) => ({ ...ours[i], what, ...numbersOf(sshKeygen) }));
    expect(ours).toEqual(theirs);
  });

  it('gives one key in all its text forms one wire form', () => {
    const formsOf = new Map<string, Set<string>>();
    for (const entry of toAccept) {
      const key = entry.key ?? entry.what;
      formsOf.set(key, (formsOf.get(key) ?? new Set()).add(wireHex(entry)));
    }
    const divided = [...formsOf].filter(([, wireForms]) => wireForms.size !== 1);
    expect(divided.map(([key]) => key)).toEqual([]);
  });

  it('names the fault of the key in every refusal', () => {
    const wrong = toRefuse
      .map((entry) => [entry, messageFor(entry)] as const)
      .filter(([e, m]) => !m.includes(e.says ?? ''));
    expect(wrong.map(([entry, message]) => `${entry.what}: ${message}`)).toEqual([]);
  });

  it('never quotes the upload, which may be a secret', () => {
    const quoting = toRefuse.filter((entry) => {
      const message = messageFor(entry);
      return longWords(entry.text).some((word) => message.includes(word));
    });
    expect(names(quoting)).toEqual([]);
  });

  it('disagrees with ssh-keygen only for a reason in the corpus', () => {
    const readable = (entry: CorpusEntry) => entry.sshKeygen.verdict === 'valid';
    const unexplained = corpus.filter(
      (entry) =>
        (entry.stricter !== undefined) !== (readable(entry) && entry.says !== undefined) ||
        (entry.lenient !== undefined) !== (!readable(entry) && entry.says === undefined),
    );
    expect(names(unexplained)).toEqual([]);
  });
});

const numbersOf = (verdict: CorpusEntry['sshKeygen']) =>
  verdict.verdict === 'valid' ? { bits: verdict.bits, fingerprint: verdict.fingerprint } : {};

const wireHex = (entry: CorpusEntry) => parsePublicKey(entry.text).blob.toString('hex');

function messageFor(entry: CorpusEntry): string {
  const answer = answerTo(entry);
  return answer instanceof Problem ? answer.message : '';
}

/** Words long enough to reveal content. A message may hold only names of key types. */
const longWords = (text: string) =>
  text.split(/\s+/).filter((word) => word.length >= 12 && !/^(ssh|ecdsa|sk|rsa)-/.test(word));
