import { type KeyHistory } from './seal/checkpoint-key.js';
import { type Checkpoints } from './seal/checkpoints.js';
import { type Alarm, markOf } from './seal/log-alarms.js';
import { type SealedLogs, TilesDamaged } from './seal/sealed-logs.js';
import { type LeafRange, rangesBeside, rootAround } from './tree/merkle-tree.js';
import { TILE_WIDTH } from './tree/tiles.js';

/** How many events one check compares. */
const EVENTS_PER_CHECK = 4 * TILE_WIDTH;

interface Signed {
  readonly accountId: string;
  readonly size: number;
  readonly root: Buffer;
}

/**
 * Compares the stored events with what was signed, one part of one log at a time, in rotation. An idle log gets no new
 * checkpoint, so nothing else would notice that someone has replaced its events and their hashes.
 */
export class Rechecks {
  private accountId = '';
  /**
   * The number of events of this log that are checked. It is infinite once all events under the checkpoint are checked.
   */
  private done = 0;

  constructor(
    private readonly logs: SealedLogs,
    private readonly checkpoints: Checkpoints,
  ) {}

  async next(keys: KeyHistory): Promise<void> {
    let signed = await this.signed(keys);
    if (signed === undefined || this.done >= signed.size) {
      [this.accountId, this.done] = [await this.logs.nextLog(this.accountId), 0];
      signed = await this.signed(keys);
    }
    if (signed === undefined) return;
    const range = { from: this.done, to: Math.min(this.done + EVENTS_PER_CHECK, signed.size) };
    // If the check fails, the next call repeats it.
    await this.check(signed, range);
    this.done = range.to === signed.size ? Number.POSITIVE_INFINITY : range.to;
  }

  /**
   * The newest checkpoint of the log. Undefined unless a known key has signed it, because anyone who may insert a row
   * can write one.
   */
  private async signed(keys: KeyHistory): Promise<Signed | undefined> {
    const { accountId } = this;
    const last = accountId === '' ? undefined : await this.logs.lastCheckpoint(accountId);
    const signed = last && keys.signedIn(last.note, accountId);
    return signed?.size === last?.size ? signed && { accountId, size: signed.size, root: signed.root } : undefined;
  }

  private async check(signed: Signed, range: LeafRange): Promise<void> {
    const { accountId } = signed;
    try {
      const found = await this.faultIn(signed, range);
      if (found !== undefined) await this.checkpoints.raise({ accountId, loss: 'events', ...found });
    } catch (error) {
      if (!(error instanceof TilesDamaged)) throw error;
      const what = `${nameOf(accountId, range)} cannot be compared: ${error.message}`;
      await this.checkpoints.raise({ accountId, loss: 'tiles', signed: 0, mark: '', what });
    }
  }

  /** What is wrong with the events of a range. Throws TilesDamaged if only their tiles are wrong. */
  private async faultIn({ accountId, size, root }: Signed, { from, to }: LeafRange): Promise<Finding | undefined> {
    const leaves = await this.logs.leaves(accountId, from, to);
    const stored = await this.logs.tileLeaves(accountId, from, to);
    const beside = await this.logs.hashesOf(accountId, rangesBeside({ from, to }, { from: 0, to: size }));
    const make = (hashes: readonly Buffer[]): boolean =>
      hashes.length === to - from && rootAround(size, { from, width: 1, hashes }, beside).equals(root);
    if (make(leaves)) {
      if (make(stored)) return undefined;
      throw new TilesDamaged(`the tiles of level 0 from index ${from / TILE_WIDTH} on are missing or damaged`);
    }
    if (make(stored)) return changedIn(accountId, from, { leaves, stored });
    const what = `${nameOf(accountId, { from, to })} do not make its checkpoint of ${size} events: they were changed, or tiles beside them`;
    return { signed: to, mark: '', what };
  }
}

type Finding = Pick<Alarm, 'signed' | 'mark' | 'what'>;

const nameOf = (accountId: string, { from, to }: LeafRange): string =>
  `the events of the positions ${from + 1} to ${to} of the log of ${accountId}`;

/** Finds the events that differ from the stored tiles, which do match the signed root. */
function changedIn(
  accountId: string,
  from: number,
  { leaves, stored }: { readonly leaves: readonly Buffer[]; readonly stored: readonly Buffer[] },
): Finding {
  const changed = stored.flatMap((leaf, i) => (leaves[i]?.equals(leaf) === true ? [] : [i]));
  const signed = from + (changed[0] ?? 0) + 1;
  const more = changed.length > 1 ? `, nor are ${changed.length - 1} more` : '';
  return {
    signed,
    mark: markOf(...changed.flatMap((i) => leaves[i] ?? [])),
    what: `the event at position ${signed} of the log of ${accountId} is not the one that was signed${more}`,
  };
}
