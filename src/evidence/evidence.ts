import { type KeyHistory, signerOf } from '../log/seal/checkpoint-key.js';
import type { Checkpoints } from '../log/seal/checkpoints.js';
import { type SealedLogs, type StoredCheckpoint, TilesDamaged } from '../log/seal/sealed-logs.js';
import { parseSignedCheckpoint, proofText } from '../log/tree/checkpoint.js';
import {
  consistencyRanges,
  HASH_BYTES,
  inclusionRanges,
  isConsistent,
  type LeafRange,
  rangesBeside,
  rootAround,
  rootOfInclusion,
} from '../log/tree/merkle-tree.js';
import { verifierText } from '../log/tree/signed-note.js';
import { entriesOf, leavesUnder, parseTilePath, widthIn } from '../log/tree/tiles.js';
import { malformed, Problem, quoted } from '../problem.js';

/** Leads to no root. */
const NONE = Buffer.alloc(0);

/** What the service proves of an account's log. All of it throws Problem while checkpoints are off. */
export class Evidence {
  constructor(
    private readonly logs: SealedLogs,
    private readonly checkpoints: Checkpoints,
  ) {}

  /** The public key of the account's checkpoints, as verifiers take it. */
  verifierKey(accountId: string): string {
    return `${verifierText(signerOf(this.requireKeys().signing, accountId))}\n`;
  }

  /**
   * The newest signed checkpoint. `known`: one that the caller has kept. It raises the alarm if this service has signed it
   * and the log is not its continuation: so a restored database is noticed too, by an instance that has seen no other.
   * Throws Problem for a text that is no checkpoint.
   */
  async checkpoint(accountId: string, known: string | undefined): Promise<string> {
    if (known !== undefined) await this.holdTo(known, accountId);
    return (await this.last(accountId)).note;
  }

  private async holdTo(known: string, accountId: string): Promise<void> {
    const keys = this.requireKeys();
    if (parseSignedCheckpoint(known) === undefined) {
      throw malformed('known is not a checkpoint as GET /log/checkpoint answers it.');
    }
    const signed = keys.signedIn(known, accountId);
    if (signed === undefined) return;
    const { size, root } = signed;
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
      'Stored tiles of this log are missing or damaged, so nothing can be proven. The operator must repair them: audit repair-tiles.',
    );
  }

  /** The hashes of a tile, which lead to the newest checkpoint. */
  async tile(accountId: string, path: string): Promise<Buffer> {
    const tile = parseTilePath(path);
    const { size, note } = await this.last(accountId);
    if (tile === undefined || tile.width > widthIn(size, tile)) throw new Problem('not_found', 'Resource not found');
    const [stored] = await this.logs.tiles(accountId, [{ level: tile.level, index: tile.index }]);
    const hashes = stored?.hashes.subarray(0, tile.width * HASH_BYTES) ?? NONE;
    if (hashes.length < tile.width * HASH_BYTES) {
      throw this.damaged(accountId, `the tile ${path} is missing or cut`);
    }
    const { from, to, width } = leavesUnder(tile);
    const beside = await this.hashesOf(accountId, rangesBeside({ from, to }, { from: 0, to: size }));
    const root = parseSignedCheckpoint(note)?.checkpoint.root ?? NONE;
    if (rootAround(size, { from, width, hashes: entriesOf(hashes) }, beside).equals(root)) return hashes;
    throw this.damaged(accountId, `the tiles over the tile ${path} do not lead to its checkpoint of ${size} events`);
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
    const whole = { from: 0, to: size };
    const ranges = [{ from: index, to: position }, ...inclusionRanges(index, whole)];
    const [signed = NONE, ...hashes] = await this.hashesOf(accountId, ranges);
    const root = parseSignedCheckpoint(note)?.checkpoint.root;
    if (root === undefined || rootOfInclusion(index, size, signed, hashes)?.equals(root) !== true) {
      throw this.damaged(
        accountId,
        `the tiles over position ${position} do not lead to its checkpoint of ${size} events`,
      );
    }
    const [leaf] = await this.logs.leaves(accountId, index, position);
    if (leaf?.equals(signed) !== true) throw this.changed(accountId, position);
    return proofText(index, hashes, note);
  }

  private changed(accountId: string, position: number): Problem {
    const what = `the event at position ${position} of the log of ${accountId} is not the one that was signed`;
    this.checkpoints.raise(accountId, { loss: 'events', signed: position }, what);
    return new Problem(
      'overloaded',
      `The event at position ${position} is not the one that was signed, so it cannot be proven. The operator must restore it.`,
    );
  }

  /** That the log of the first size is the beginning of the log of the second; hashes in base64. */
  async consistency(accountId: string, from: number, to: number): Promise<readonly string[]> {
    const { size, note } = await this.last(accountId);
    if (from > to || to > size) {
      throw malformed(
        `from is ${from} and to is ${to}; from must not be greater, and the newest checkpoint covers ${size} events.`,
      );
    }
    const [ranges, further] = [consistencyRanges(from, to), consistencyRanges(to, size)];
    const ends = [from, to].map((end) => ({ from: 0, to: end }));
    const [older = NONE, newer = NONE, ...hashes] = await this.hashesOf(accountId, [...ends, ...ranges, ...further]);
    const proof = hashes.slice(0, ranges.length);
    const root = parseSignedCheckpoint(note)?.checkpoint.root ?? NONE;
    const holds =
      isConsistent({ size: from, root: older }, { size: to, root: newer }, proof) &&
      isConsistent({ size: to, root: newer }, { size, root }, hashes.slice(ranges.length));
    if (!holds)
      throw this.damaged(
        accountId,
        `the tiles over ${from} and ${to} events do not lead to its checkpoint of ${size} events`,
      );
    return proof.map((hash) => hash.toString('base64'));
  }

  private async last(accountId: string): Promise<StoredCheckpoint> {
    this.requireKeys();
    const last = await this.logs.lastCheckpoint(accountId);
    if (last === undefined) throw new Problem('not_found', 'The log has no checkpoint yet; ask again in a second.');
    return last;
  }

  private requireKeys(): KeyHistory {
    if (this.checkpoints.keys !== undefined) return this.checkpoints.keys;
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
