import { type CheckpointKey, signerOf } from '../log/seal/checkpoint-key.js';
import type { Checkpoints } from '../log/seal/checkpoints.js';
import { type SealedLogs, type StoredCheckpoint, TilesDamaged } from '../log/seal/sealed-logs.js';
import { parseSignedCheckpoint, proofText } from '../log/tree/checkpoint.js';
import { consistencyRanges, HASH_BYTES, inclusionRanges, type LeafRange } from '../log/tree/merkle-tree.js';
import { verifierText } from '../log/tree/signed-note.js';
import { parseTilePath, widthIn } from '../log/tree/tiles.js';
import { malformed, Problem, quoted } from '../problem.js';

/** What the service proves of an account's log. All of it throws Problem while checkpoints are off. */
export class Evidence {
  constructor(
    private readonly logs: SealedLogs,
    private readonly checkpoints: Checkpoints,
  ) {}

  /** The public key of the account's checkpoints, as verifiers take it. */
  verifierKey(accountId: string): string {
    return `${verifierText(signerOf(this.requireKey(), accountId))}\n`;
  }

  /**
   * The newest signed checkpoint. `known`: one that the caller has kept. It raises the alarm if this service has signed it
   * and the log is not its continuation: so a restored database is noticed too, by an instance that has seen no other.
   */
  async checkpoint(accountId: string, known: string | undefined): Promise<string> {
    if (known !== undefined) await this.holdTo(known, accountId);
    return (await this.last(accountId)).note;
  }

  private async holdTo(known: string, accountId: string): Promise<void> {
    const signer = signerOf(this.requireKey(), accountId);
    const note = parseSignedCheckpoint(known);
    if (note?.isSignedBy(signer) !== true || note.checkpoint.origin !== signer.name) return;
    const { size, root } = note.checkpoint;
    const sealed = (await this.logs.lastCheckpoint(accountId))?.size ?? 0;
    // The sealer compares this with the log within a second.
    if (size > sealed) return this.checkpoints.witness(accountId, size);
    const here = await this.rootOf(accountId, size);
    if (here === undefined || here.equals(root)) return;
    this.checkpoints.raise(
      accountId,
      { loss: 'events', signed: size },
      `a checkpoint of ${size} events of the log of ${accountId} was signed that its events do not make`,
    );
  }

  /** Undefined, with an alarm, if the tiles do not make one. The newest checkpoint can be answered without them. */
  private async rootOf(accountId: string, size: number): Promise<Buffer | undefined> {
    return (await this.hashesOf(accountId, [{ from: 0, to: size }]).catch(ignoreProblem))?.[0];
  }

  /** Throws Problem, with an alarm, if tiles are missing or cut. */
  private async hashesOf(accountId: string, ranges: readonly LeafRange[]): Promise<Buffer[]> {
    try {
      return await this.logs.hashesOf(accountId, ranges);
    } catch (error) {
      throw error instanceof TilesDamaged ? this.damaged(accountId, error.message) : error;
    }
  }

  private damaged(accountId: string, what: string): Problem {
    this.checkpoints.raise(accountId, { loss: 'tiles', signed: 0 }, `the log of ${accountId} has no proofs: ${what}`);
    return new Problem(
      'overloaded',
      'Stored tiles of this log are missing or damaged. The operator must restore them.',
    );
  }

  /** The hashes of a tile, which the newest checkpoint covers. */
  async tile(accountId: string, path: string): Promise<Buffer> {
    const tile = parseTilePath(path);
    const { size } = await this.last(accountId);
    if (tile === undefined || tile.width > widthIn(size, tile)) throw new Problem('not_found', 'Resource not found');
    const [stored] = await this.logs.tiles(accountId, [{ level: tile.level, index: tile.index }]);
    if (stored === undefined || stored.hashes.length < tile.width * HASH_BYTES) {
      throw this.damaged(accountId, `the tile ${path} is missing or cut`);
    }
    return stored.hashes.subarray(0, tile.width * HASH_BYTES);
  }

  /** That the event at a position is in the log of the newest checkpoint, as c2sp.org/tlog-proof has it. */
  async proof(accountId: string, position: number): Promise<string> {
    const { size, note } = await this.last(accountId);
    if (position < 1 || position > size) {
      throw new Problem(
        'not_found',
        `position ${position} is not in the newest checkpoint, which covers ${size} events.`,
      );
    }
    const index = position - 1;
    const hashes = await this.hashesOf(accountId, inclusionRanges(index, { from: 0, to: size }));
    return proofText(index, hashes, note);
  }

  /** That the log of the first size is the beginning of the log of the second; hashes in base64. */
  async consistency(accountId: string, from: number, to: number): Promise<readonly string[]> {
    const { size } = await this.last(accountId);
    if (from > to || to > size) {
      throw malformed(
        `from is ${from} and to is ${to}; from must not be greater, and the newest checkpoint covers ${size} events.`,
      );
    }
    return (await this.hashesOf(accountId, consistencyRanges(from, to))).map((hash) => hash.toString('base64'));
  }

  private async last(accountId: string): Promise<StoredCheckpoint> {
    this.requireKey();
    const last = await this.logs.lastCheckpoint(accountId);
    if (last === undefined) throw new Problem('not_found', 'The log has no checkpoint yet; ask again in a second.');
    return last;
  }

  private requireKey(): CheckpointKey {
    if (this.checkpoints.key !== undefined) return this.checkpoints.key;
    throw new Problem('not_found', 'Checkpoints are off: the operator has not set CHECKPOINT_KEY.');
  }
}

/** Reads a position or size of a query. Throws Problem unless it is a whole number. */
export function readCount(query: Readonly<Record<string, unknown>>, name: string): number {
  const value = query[name];
  if (typeof value === 'string' && /^\d{1,15}$/.test(value)) return Number(value);
  const given = typeof value === 'string' && value !== '' ? `${quoted(value)} is not` : 'is missing; send';
  throw malformed(`${name} ${given} a whole number.`);
}

function ignoreProblem(error: unknown): undefined {
  if (!(error instanceof Problem)) throw error;
}
