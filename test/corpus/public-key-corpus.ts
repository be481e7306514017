import { readFileSync } from 'node:fs';
import type { KeyForm, Verdict } from './ssh-keygen.mjs';

/** One text of the corpus, with the verdict of ssh-keygen and the required verdict of the service. */
export interface CorpusEntry {
  readonly what: string;
  /** Entries that share this are text forms of one key. */
  readonly key?: string;
  readonly form: KeyForm;
  readonly text: string;
  readonly sshKeygen: Verdict;
  /** A part of the refusal's message; absent if the key must be accepted. */
  readonly says?: string;
  /** Why the service refuses a key that ssh-keygen reads. */
  readonly stricter?: string;
  /** Why the service reads a key that ssh-keygen refuses. */
  readonly lenient?: string;
}

/** The committed corpus; `node test/corpus/make-public-keys.mjs` makes a new one. */
export function readCorpus(): readonly CorpusEntry[] {
  const file = new URL('public-keys.corpus.json', import.meta.url);
  const { entries } = JSON.parse(readFileSync(file, 'utf8')) as { entries: CorpusEntry[] };
  return entries;
}
