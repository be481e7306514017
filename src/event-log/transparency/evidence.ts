import { malformed, Problem } from '../../kernel/problem.js';
import { type KeyHistory, signerOf } from './seal/checkpoint-key.js';
import { Checkpoints } from './seal/checkpoints.js';
import { markOf } from './seal/log-alarms.js';
import { SealedLogs, type StoredCheckpoint, TilesDamaged } from './seal/sealed-logs.js';
import { type Checkpoint, parseSignedCheckpoint, proofText } from './tree/checkpoint.js';
import {
  consistencyRanges,
  HASH_BYTES,
  inclusionRanges,
  isConsistent,
  type LeafRange,
  rangesBeside,
  rootAround,
  rootOfInclusion,
} from './tree/merkle-tree.js';
import { verifierText } from './tree/signed-note.js';
import { entriesOf, leavesUnder, parseTilePath, widthIn } from './tree/tiles.js';

/** Stands for a hash that is not there. No proof with it leads to a root. */
const MISSING_HASH = Buffer.alloc(0);

type LastCheckpoint = StoredCheckpoint & Pick<Checkpoint, 'root'> & { readonly accountId: string };

/** The proofs about an account's log. Each method throws Problem while checkpoints are off. */
export class Evidence {
  constructor(
    private readonly logs: SealedLogs,
    private readonly checkpoints: Checkpoints,
  ) {}

  /** The public key of the account's checkpoints, in the form that verifiers take. */
  verifierKey(accountId: string): string {
    return `${verifierText(signerOf(this.requireKeys().signing, accountId))}\n`;
  }

  /**
   * The newest signed checkpoint. `known` is a checkpoint that the caller has kept: if the service has signed it and the
   * log is not its continuation, this raises an alarm, for example after an old backup was restored. Throws Problem if
   * `known` is not a checkpoint.
   */
  async checkpoint(accountId: string, known: string | undefined): Promise<string> {
    if (known !== undefined) await this.checkKnown(known, accountId);
    return (await this.last(accountId)).note;
  }

  private async checkKnown(known: string, accountId: string): Promise<void> {
    const keys = this.requireKeys();
    if (parseSignedCheckpoint(known) === undefined) {
      throw malformed('known is not a checkpoint as GET /log/checkpoint answers it.');
    }
    const signed = keys.signedIn(known, accountId);
    if (signed === undefined) return;
    const { size, root } = signed;
    const last = await this.stored(accountId);
    const mark = markOf(root);
    const what = `a checkpoint of ${size} events of the log of ${accountId} was signed`;
    if (last === undefined || size > last.size) {
      const lost = `${what}, but its newest checkpoint here is of ${last?.size ?? 0}`;
      return this.checkpoints.raise({ accountId, loss: 'checkpoints', signed: size, mark, what: lost });
    }
    const here = await this.rootOf(last, size).catch(ignoreProblem);
    if (here === undefined || here.equals(root)) return;
    const changed = `${what} that its events do not make`;
    await this.checkpoints.raise({ accountId, loss: 'events', signed: size, mark, what: changed });
  }

  /**
   * The root of the log's first `size` events. Raises an alarm and throws Problem if it does not lead to the newest
   * checkpoint.
   */
  private async rootOf(last: LastCheckpoint, size: number): Promise<Buffer> {
    const ranges = [{ from: 0, to: size }, ...consistencyRanges(size, last.size)];
    const [root = MISSING_HASH, ...proof] = await this.hashesOf(last, ranges);
    if (isConsistent({ size, root }, last, proof)) return root;
    throw await this.damaged(last, describeMismatch(`${size} events`, last));
  }

  /** The hash of each range. Raises an alarm and throws Problem if tiles are missing or cut. */
  private async hashesOf(last: LastCheckpoint, ranges: readonly LeafRange[]): Promise<Buffer[]> {
    try {
      return await this.logs.hashesOf(last.accountId, ranges);
    } catch (error) {
      throw error instanceof TilesDamaged ? await this.damaged(last, error.message) : error;
    }
  }

  private async damaged({ accountId, size, note }: LastCheckpoint, why: string): Promise<Problem> {
    const what = `the log of ${accountId} has no proofs: ${why}`;
    // Anyone who may insert a row can write a checkpoint that does not match the tiles. Only a signed one is an alarm.
    if (this.requireKeys().signedIn(note, accountId)?.size === size) {
      await this.checkpoints.raise({ accountId, loss: 'tiles', signed: 0, mark: '', what });
    }
    return new Problem(
      'overloaded',
      'Stored tiles of this log are missing or damaged, so nothing can be proven. The operator must repair them: audit repair-tiles.',
    );
  }

  /** The hashes of a tile, after checking that they lead to the newest checkpoint. */
  async tile(accountId: string, path: string): Promise<Buffer> {
    const tile = parseTilePath(path);
    const last = await this.last(accountId);
    const { size } = last;
    if (tile === undefined || tile.width > widthIn(size, tile)) throw new Problem('not_found', 'Resource not found');
    const [stored] = await this.logs.tiles(accountId, [{ level: tile.level, index: tile.index }]);
    const hashes = stored?.hashes.subarray(0, tile.width * HASH_BYTES) ?? MISSING_HASH;
    if (hashes.length < tile.width * HASH_BYTES) {
      throw await this.damaged(last, `the tile ${path} is missing or cut`);
    }
    const { from, to, width } = leavesUnder(tile);
    const beside = await this.hashesOf(last, rangesBeside({ from, to }, { from: 0, to: size }));
    if (rootAround(size, { from, width, hashes: entriesOf(hashes) }, beside).equals(last.root)) return hashes;
    throw await this.damaged(last, describeMismatch(`the tile ${path}`, last));
  }

  /** The proof that the event at a position is in the log of the newest checkpoint: see c2sp.org/tlog-proof. */
  async proof(accountId: string, position: number): Promise<string> {
    const last = await this.last(accountId);
    const { size, note } = last;
    if (position < 1 || position > size) {
      throw new Problem(
        'not_found',
        `position ${position} is not in the newest checkpoint, which covers ${size} events.`,
      );
    }
    const index = position - 1;
    const ranges = [{ from: index, to: position }, ...inclusionRanges(index, { from: 0, to: size })];
    const [signed = MISSING_HASH, ...hashes] = await this.hashesOf(last, ranges);
    if (rootOfInclusion(index, size, signed, hashes)?.equals(last.root) !== true) {
      throw await this.damaged(last, describeMismatch(`position ${position}`, last));
    }
    const [leaf = MISSING_HASH] = await this.logs.leaves(accountId, index, position);
    if (!leaf.equals(signed)) throw await this.changed(accountId, position, leaf);
    return proofText(index, hashes, note);
  }

  private async changed(accountId: string, position: number, leaf: Buffer): Promise<Problem> {
    const what = `the event at position ${position} of the log of ${accountId} is not the one that was signed`;
    await this.checkpoints.raise({ accountId, loss: 'events', signed: position, mark: markOf(leaf), what });
    return new Problem(
      'overloaded',
      `The event at position ${position} is not the one that was signed, so it cannot be proven. The operator must restore it.`,
    );
  }

  /** The proof that the log of size `from` is the beginning of the log of size `to`. The hashes are in base64. */
  async consistency(accountId: string, from: number, to: number): Promise<readonly string[]> {
    const last = await this.last(accountId);
    if (from > to || to > last.size) {
      throw malformed(
        `from is ${from} and to is ${to}; from must not be greater, and the newest checkpoint covers ${last.size} events.`,
      );
    }
    const newer = await this.rootOf(last, to);
    const [older = MISSING_HASH, ...proof] = await this.hashesOf(last, [
      { from: 0, to: from },
      ...consistencyRanges(from, to),
    ]);
    if (!isConsistent({ size: from, root: older }, { size: to, root: newer }, proof)) {
      throw await this.damaged(last, describeMismatch(`${from} and ${to} events`, last));
    }
    return proof.map((hash) => hash.toString('base64'));
  }

  private async last(accountId: string): Promise<LastCheckpoint> {
    this.requireKeys();
    const last = await this.stored(accountId);
    if (last === undefined) throw new Problem('not_found', 'The log has no checkpoint yet; ask again in a second.');
    return last;
  }

  private async stored(accountId: string): Promise<LastCheckpoint | undefined> {
    const last = await this.logs.lastCheckpoint(accountId);
    return last && { ...last, accountId, root: parseSignedCheckpoint(last.note)?.checkpoint.root ?? MISSING_HASH };
  }

  private requireKeys(): KeyHistory {
    if (this.checkpoints.keys !== undefined) return this.checkpoints.keys;
    throw new Problem('not_found', 'Checkpoints are off: CHECKPOINT_KEY of the service names no key.');
  }
}

const describeMismatch = (what: string, { size }: StoredCheckpoint): string =>
  `the tiles over ${what} do not lead to its checkpoint of ${size} events`;

function ignoreProblem(error: unknown): undefined {
  if (!(error instanceof Problem)) throw error;
}
