import { beforeAll, describe, expect, it } from '@jest/globals';
import { Problem } from '../../src/kernel/problem.js';
import { parsePublicKey } from '../../src/rules/public-keys/public-key.js';
import { type CorpusEntry, readCorpus } from '../corpus/public-key-corpus.js';
import { askSshKeygen, sshKeygenVersion, type Verdict } from '../corpus/ssh-keygen.mjs';

/** The corpus against the ssh-keygen of this machine, which may be newer than the committed answers. */
describe('public keys and the installed ssh-keygen', () => {
  const version = sshKeygenVersion();
  const corpus = readCorpus();
  let live: ReadonlyMap<CorpusEntry, Verdict> = new Map();

  beforeAll(() => {
    if (version === undefined) throw new Error('ssh-keygen is not installed: install openssh-client to run this test');
    live = new Map(corpus.map((entry) => [entry, askSshKeygen(entry.text, entry.form)]));
  }, 120_000);

  const where = (claim: (entry: CorpusEntry, theirs: Verdict) => boolean) =>
    [...live].filter(([entry, theirs]) => claim(entry, theirs)).map(([entry]) => `${version}: ${entry.what}`);

  it('agree on size and fingerprint of every key both read', () => {
    const differs = ({ text }: CorpusEntry, theirs: Verdict) => {
      const ours = answerTo(text);
      if (ours.verdict === 'refused' || theirs.verdict === 'refused') return false;
      return ours.bits !== theirs.bits || ours.fingerprint !== theirs.fingerprint;
    };
    expect(where(differs)).toEqual([]);
  });

  it('differ only if the corpus says why', () => {
    const unexplained = (entry: CorpusEntry, theirs: Verdict) => {
      const ours = answerTo(entry.text);
      const reason = ours.verdict === 'refused' ? entry.stricter : entry.lenient;
      return ours.verdict !== theirs.verdict && reason === undefined;
    };
    expect(where(unexplained)).toEqual([]);
  });
});

function answerTo(text: string): Verdict {
  try {
    const { bits, fingerprint } = parsePublicKey(text);
    return { verdict: 'valid', bits, fingerprint };
  } catch (error) {
    if (error instanceof Problem) return { verdict: 'refused' };
    throw error;
  }
}
