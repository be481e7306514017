import { readFile } from 'node:fs/promises';
import { type Config, readConfig } from '../api/config/config.js';
import {
  type Checkpoint,
  COSIGNATURE,
  findEmbeddedKeys,
  type KeyHistory,
  parseVerifier,
  renamed,
  type SignedNote,
  type VerifierKey,
} from '../event-log/index.js';
import { UsageError } from '../kernel/operator-error.js';
import { fileArgument } from './file-argument.js';

/** The keys that may have signed the checkpoints of an account, oldest first. Without keys no signature is checked. */
export type KeysOf = (account: string) => readonly VerifierKey[];

/** The public keys of logs and witnesses, for the checks of checkpoints. */
export class CheckpointKeys {
  private readonly ofLogs: readonly VerifierKey[];
  private readonly ofWitnesses: readonly VerifierKey[];
  private readonly notKnown = new Map<string, { readonly checkpoints: number; readonly logs: number }>();

  constructor(
    given: readonly VerifierKey[],
    private readonly own: KeyHistory | undefined,
    /** Tells the operator how to name a key of the log. */
    private readonly wayOut: string,
  ) {
    this.ofLogs = given.filter(({ kind }) => kind !== COSIGNATURE);
    this.ofWitnesses = given.filter(({ kind }) => kind === COSIGNATURE);
  }

  /** Says on stderr that no key of the log is known, if that is so. */
  tellIfNone(): void {
    if (!this.knowsLogs) console.error(`the log's own signatures of checkpoints are not checked: ${this.wayOut}`);
  }

  /** Counts the checkpoints of one log that a key has signed which is not among these. */
  readonly unchecked = (key: string, count: number): void => {
    const { checkpoints = 0, logs = 0 } = this.notKnown.get(key) ?? {};
    this.notKnown.set(key, { checkpoints: checkpoints + count, logs: logs + 1 });
  };

  /** Says on stderr which signatures were not checked, if there are some. */
  tellUnchecked(): void {
    for (const [key, { checkpoints, logs }] of this.notKnown)
      console.error(
        `the signatures of ${checkpoints} checkpoints of ${logs} logs are not checked, since the key ${key} is not known: later checkpoints cover their events. Give its public key with --key`,
      );
  }

  private get knowsLogs(): boolean {
    return this.ofLogs.length > 0 || this.own !== undefined;
  }

  /** A deployment signs the logs of all accounts with one key, under the name `name/account`. */
  readonly of: KeysOf = (account) => [
    ...this.ofLogs.map((key) =>
      renamed(
        key,
        key.name.replace(/[^/]*$/, () => account),
      ),
    ),
    ...(this.own?.signersOf(account) ?? []),
  ];

  /** Whether a known key of the log and every known witness have signed the checkpoint. */
  haveSigned(note: SignedNote, { origin }: Checkpoint, account: string): boolean {
    const ofLog = this.of(account).filter(({ name }) => name === origin);
    return (!this.knowsLogs || ofLog.some(note.isSignedBy)) && this.ofWitnesses.every(note.isSignedBy);
  }
}

/** The keys that the service itself uses. */
export async function ownKeys({ checkpointKeys, databaseUrl, dataDir }: Config): Promise<KeyHistory | undefined> {
  if (checkpointKeys === 'off') return undefined;
  return checkpointKeys ?? (databaseUrl === undefined ? await findEmbeddedKeys(dataDir) : undefined);
}

/** The given keys, each as a verifier key or as a file that holds one, and then the keys of the service. */
export async function checkpointKeys(given: readonly string[]): Promise<CheckpointKeys> {
  const own = await ownKeys(readConfig(process.env));
  const wayOut = 'set CHECKPOINT_KEY, or give the public key of the log with --key';
  return new CheckpointKeys(await Promise.all(given.map(verifierIn)), own, wayOut);
}

/** A public key that is given as text or as a file that holds it. */
export async function verifierIn(given: string): Promise<VerifierKey> {
  const text = given.includes('+') ? given : await readFile(fileArgument(given), 'utf8').catch(() => '');
  const key = parseVerifier(text.trim());
  if (key !== undefined) return key;
  throw new UsageError(`${given} is neither a key as GET /log/key answers it nor a file that holds one`);
}
