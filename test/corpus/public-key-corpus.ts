import { readFileSync } from 'node:fs';
import type { KeyForm, Verdict } from './ssh-keygen.mjs';

/** One text of the corpus, what ssh-keygen made of it, and what the service must make of it. */
export interface CorpusEntry {
  readonly what: string;
  /** Entries that share this are text forms of one key. */
  readonly key?: string;
  readonly form: KeyForm;
  readonly text: string;
  readonly sshKeygen: Verdict;
  /** A piece of the refusal's message; absent where the key must be accepted. */
  readonly says?: string;
  /** Why the service refuses what ssh-keygen reads. */
  readonly stricter?: string;
  /** Why the service reads what ssh-keygen refuses. */
  readonly lenient?: string;
}

/** The committed corpus; `node test/corpus/make-public-keys.mjs` makes it anew. */
export function readCorpus(): readonly CorpusEntry[] {
  const file = new URL('public-keys.corpus.json', import.meta.url);
  const { entries } = JSON.parse(readFileSync(file, 'utf8')) as { entries: CorpusEntry[] };
  return entries;
}
