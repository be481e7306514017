import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../../kernel/error-message.js';
import { retry } from '../../../kernel/network/retry.js';
import { OperatorError, UsageError } from '../../../kernel/operator-error.js';
import { writeWholeFile } from '../../files/whole-file.js';

const MAX_LOCKED_MS = 5_000;
const LOCK_PAUSE_MS = 100;

/**
 * What a witness keeps: the last checkpoint that it cosigned, and the public keys for those who check it. Each file is
 * whole at any moment, also after a loss of power.
 */
export class WitnessFolder {
  constructor(private readonly path: string) {}

  get checkpointPath(): string {
    return join(this.path, 'checkpoint');
  }

  /** Makes the folder if it does not exist. Throws UsageError if that is not possible. */
  async open(): Promise<void> {
    await mkdir(this.path, { recursive: true }).catch((error: unknown) => {
      throw new UsageError(`the folder ${this.path} cannot be made: ${messageOf(error)}`);
    });
  }

  /** The last checkpoint that was kept. Undefined if this witness has seen none yet. */
  readCheckpoint(): Promise<string | undefined> {
    return read(this.checkpointPath);
  }

  readLogKey(): Promise<string | undefined> {
    return read(join(this.path, 'log-key'));
  }

  /**
   * Refuses the folder of another witness: `witness-key` would no longer match the checkpoint, and it would look
   * forged.
   */
  async refuseOtherWitness(witnessKey: string): Promise<void> {
    const kept = (await read(join(this.path, 'witness-key')))?.trim();
    if (kept === undefined || kept === witnessKey) return;
    throw new UsageError(
      `the folder ${this.path} belongs to the witness ${JSON.stringify(kept)}: give its key with --key-file, or name another --folder`,
    );
  }

  async writeKeys(logKey: string, witnessKey: string): Promise<void> {
    await this.write('log-key', `${logKey}\n`);
    await this.write('witness-key', `${witnessKey}\n`);
  }

  /**
   * Keeps a refused checkpoint beside the one that it contradicts: both together are evidence. A checkpoint that the
   * key of the log has not signed replaces no other one. Resolves with a sentence.
   */
  async keepRefused(note: string, isSigned: boolean): Promise<string> {
    const path = join(this.path, 'refused-checkpoint');
    if (!isSigned && ![undefined, note].includes(await read(path))) return `${path} stays too, as it was`;
    await this.write('refused-checkpoint', note);
    return `the checkpoint that contradicts it is in ${path}`;
  }

  /** Writes nothing and returns false if another witness of this folder has kept another checkpoint than `expected`. */
  async replaceCheckpoint(expected: string | undefined, note: string): Promise<boolean> {
    return this.locked(async () => {
      if ((await this.readCheckpoint()) !== expected) return false;
      await this.write('checkpoint', note);
      return true;
    });
  }

  /** Lets the witnesses of one folder take turns. */
  private async locked<T>(work: () => Promise<T>): Promise<T> {
    const lock = `${this.checkpointPath}.lock`;
    await this.take(lock);
    try {
      return await work();
    } finally {
      await rm(lock, { force: true });
    }
  }

  private async take(lock: string): Promise<void> {
    const isTaken = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EEXIST';
    const waiting = { pausesMs: [LOCK_PAUSE_MS], isTransient: isTaken, deadline: performance.now() + MAX_LOCKED_MS };
    try {
      await retry(async () => (await open(lock, 'wx')).close(), waiting);
    } catch (error) {
      if (!isTaken(error)) throw new UsageError(`the checkpoint cannot be kept: ${messageOf(error)}`);
      throw new OperatorError(
        `${lock} exists: another witness holds this lock, or a witness was killed. In the second case remove the file`,
      );
    }
  }

  private write(name: string, text: string): Promise<void> {
    return writeWholeFile(join(this.path, name), async (output) => {
      await new Promise<void>((resolve, reject) => output.once('error', reject).end(text, () => resolve()));
    });
  }
}

const read = (file: string): Promise<string | undefined> =>
  readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new UsageError(`${file} cannot be read: ${messageOf(error)}`);
  });
