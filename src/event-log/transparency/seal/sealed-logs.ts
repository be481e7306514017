import {
  type Connections,
  type NamedStatement,
  onlyRow,
  PostgresFailure,
  queryNamed,
  WRITE_LIMITS,
} from '../../../database/index.js';
import { foldNodes, HASH_BYTES, type LeafRange, nodesOf, type TreeNode } from '../tree/merkle-tree.js';
import {
  edgeTiles,
  entriesOf,
  hashOfEntries,
  type StoredTile,
  spanOf,
  TILE_WIDTH,
  type TileName,
  widthIn,
} from '../tree/tiles.js';

/** The length of a log, and the length that is sealed. The log may be longer or shorter than its last checkpoint. */
export interface LogState {
  readonly accountId: string;
  /** Number of its events. */
  readonly size: number;
  /** Number of events that the last checkpoint covers; 0 without one. */
  readonly sealed: number;
}

/** A signed checkpoint in the database. */
export interface StoredCheckpoint {
  readonly size: number;
  /** The signed note. */
  readonly note: string;
}

/** A checkpoint, with the size of the one before it in `follows`. The first one follows 0. */
export type LinkedCheckpoint = StoredCheckpoint & { readonly follows: number };

const LOGS_AT_ONCE = 1_000;

/** SQL of the first account after another one that has a head or, if that is lost, something signed. */
const accountAfter = (account: string): string => `least(
    (select h.account_id from log_heads h where h.account_id > ${account} order by h.account_id limit 1),
    (select c.account_id from log_checkpoints c where c.account_id > ${account} order by c.account_id limit 1))`;

/** The states of the next logs in the order of account ids. $1 is the last account that is done. */
const STATES: NamedStatement = {
  name: 'sealed_states',
  text: `with recursive logs(account_id, n) as (
      select ${accountAfter('$1')}, 1 union all
      select ${accountAfter('l.account_id')}, n + 1 from logs l where l.account_id is not null and n < ${LOGS_AT_ONCE}),
    states as (
      select account_id as "accountId",
        coalesce((select h.size from log_heads h where h.account_id = logs.account_id limit 1), 0) as size,
        coalesce((select c.size from log_checkpoints c where c.account_id = logs.account_id order by c.size desc limit 1), 0)
          as sealed
      from logs where account_id is not null)
    select (select case when count(*) < ${LOGS_AT_ONCE} then '' else max("accountId") end from states) as "upTo",
      (select coalesce(json_agg(states), '[]') from states) as logs`,
};

/** $1 is the last account that is done. */
const NEXT_LOG: NamedStatement = {
  name: 'next_log',
  text: `select account_id as "accountId" from log_heads where account_id > $1 order by account_id limit 1`,
};

const LAST_CHECKPOINT: NamedStatement = {
  name: 'last_checkpoint',
  text: `select c.size::float8 as size, c.note from log_checkpoints c where c.account_id = $1
    order by c.size desc limit 1`,
};

const CHECKPOINTS: NamedStatement = {
  name: 'checkpoints',
  text: `select c.size::float8 as size, c.follows::float8 as follows, c.note from log_checkpoints c
    where c.account_id = $1 and c.size > $2 order by c.size limit 1000`,
};

const LEAVES: NamedStatement = {
  name: 'leaf_hashes',
  text: `select coalesce(string_agg(leaf_hash, '' order by position), '') as leaves
    from (select position, leaf_hash from events where account_id = $1 and position > $2 and position <= $3 order by position) e`,
};

const TILES: NamedStatement = {
  name: 'log_tiles',
  text: `select t.level, t.index::float8 as index, t.hashes from json_to_recordset($2::json) as wanted(level int, index bigint)
    cross join lateral (
      select * from log_tiles t where t.account_id = $1 and t.level = wanted.level and t.index = wanted.index limit 1) t`,
};

const COUNT_TILES: NamedStatement = {
  name: 'count_tiles',
  text: 'select count(*)::int as count from log_tiles where account_id = $1',
};

/**
 * If two instances seal at once, only one inserts the next checkpoint and writes the tiles. Neither does while an alarm
 * is open.
 */
const SEAL: NamedStatement = {
  name: 'seal_log',
  text: `with sealed as (
      insert into log_checkpoints (account_id, size, follows, note) select $1::text, $2::bigint, $3::bigint, $4::text
        where not exists (select from log_alarms where account_id = $1 and ended_at is null)
        on conflict do nothing returning size),
    written as (
      insert into log_tiles (account_id, level, index, hashes)
        select $1, t.level, t.index, decode(t.hashes, 'hex') from json_to_recordset($5::json) as t(level int, index bigint, hashes text)
        where exists (select from sealed)
      on conflict (account_id, level, index) do update set hashes = excluded.hashes)
    select from sealed`,
};

/** The guard of the tiles refuses a statement with this state. */
const RESTRICT_VIOLATION = '23001';

/** The stored tiles do not give the root that was signed. */
export class TilesDamaged extends Error {}

/** The tables of the trees and their checkpoints. */
export class SealedLogs {
  constructor(private readonly connections: Connections) {}

  /** The next thousand logs after an account. The next call begins after the account `upTo`, which is '' at the end. */
  async states(after: string): Promise<{ readonly logs: readonly LogState[]; readonly upTo: string }> {
    const { rows } = await queryNamed<{ logs: LogState[]; upTo: string }>(this.connections, STATES, [after]);
    return rows[0] ?? { logs: [], upTo: '' };
  }

  /** The account of the next log in the order of ids. At the end it is ''. */
  async nextLog(after: string): Promise<string> {
    const { rows } = await queryNamed<{ accountId: string }>(this.connections, NEXT_LOG, [after]);
    return rows[0]?.accountId ?? '';
  }

  async lastCheckpoint(accountId: string): Promise<StoredCheckpoint | undefined> {
    return (await queryNamed<StoredCheckpoint & object>(this.connections, LAST_CHECKPOINT, [accountId])).rows[0];
  }

  /** The next thousand checkpoints of a log that are larger than this size. */
  async checkpoints(accountId: string, beyond: number): Promise<readonly LinkedCheckpoint[]> {
    return (await queryNamed<LinkedCheckpoint & object>(this.connections, CHECKPOINTS, [accountId, beyond])).rows;
  }

  /** The leaf hashes of the positions after `after`, up to `upTo`. */
  async leaves(accountId: string, after: number, upTo: number): Promise<Buffer[]> {
    const { rows } = await queryNamed<{ leaves: Buffer }>(this.connections, LEAVES, [accountId, after, upTo]);
    return entriesOf(rows[0]?.leaves ?? Buffer.alloc(0));
  }

  async tiles(accountId: string, wanted: readonly TileName[]): Promise<StoredTile[]> {
    if (wanted.length === 0) return [];
    return (await queryNamed<StoredTile & object>(this.connections, TILES, [accountId, JSON.stringify(wanted)])).rows;
  }

  /** The leaves from one size to another, as the stored tiles have them. There are fewer if tiles are missing or cut. */
  async tileLeaves(accountId: string, from: number, to: number): Promise<Buffer[]> {
    const first = Math.floor(from / TILE_WIDTH);
    const count = Math.ceil(to / TILE_WIDTH) - first;
    const names = Array.from({ length: count }, (_, i) => ({ level: 0, index: first + i }));
    const tiles = (await this.tiles(accountId, names)).toSorted((a, b) => a.index - b.index);
    const leaves = entriesOf(Buffer.concat(tiles.map(({ hashes }) => hashes)));
    return leaves.slice(from - first * TILE_WIDTH, to - first * TILE_WIDTH);
  }

  async countTiles(accountId: string): Promise<number> {
    return onlyRow((await queryNamed<{ count: number }>(this.connections, COUNT_TILES, [accountId])).rows).count;
  }

  /** The tiles at the right edge of the tree of this size. Throws TilesDamaged if one is missing or cut. */
  async edge(accountId: string, size: number): Promise<StoredTile[]> {
    const wanted = edgeTiles(size);
    const tiles = await this.tiles(accountId, wanted);
    const isWhole = (tile: StoredTile): boolean => tile.hashes.length >= widthIn(size, tile) * HASH_BYTES;
    if (tiles.length !== wanted.length || !tiles.every(isWhole)) {
      throw new TilesDamaged(`tiles of its tree of ${size} events are missing or cut`);
    }
    // A tile may have grown, because another instance may have sealed more.
    return tiles.map((tile) => ({ ...tile, hashes: tile.hashes.subarray(0, widthIn(size, tile) * HASH_BYTES) }));
  }

  /**
   * Writes a checkpoint with its tiles. Writes nothing and returns false if another instance has written the next
   * checkpoint, or if an alarm is open. Throws TilesDamaged if the stored tiles have other leaves after `follows`.
   */
  async seal(
    accountId: string,
    { size, note }: StoredCheckpoint,
    follows: number,
    tiles: readonly StoredTile[],
  ): Promise<boolean> {
    const rows = tiles.map(({ hashes, ...name }) => ({ ...name, hashes: hashes.toString('hex') }));
    const values = [accountId, size, follows, note, JSON.stringify(rows)];
    try {
      return (await queryNamed(this.connections, SEAL, values, WRITE_LIMITS)).rowCount === 1;
    } catch (error) {
      if (PostgresFailure.of(error).sqlState !== RESTRICT_VIOLATION) throw error;
      throw new TilesDamaged(`the stored tiles go on after its checkpoint of ${follows} events, with other events`);
    }
  }

  /** The hash of each range of leaves. Throws TilesDamaged unless the stored tiles cover them. */
  async hashesOf(accountId: string, ranges: readonly LeafRange[]): Promise<Buffer[]> {
    const names = new Map(ranges.flatMap(nodesOf).map((node) => [nameOf(node), spanOf(node)]));
    const tiles = await this.tiles(
      accountId,
      [...names.values()].map(({ level, index }) => ({ level, index })),
    );
    const stored = new Map(tiles.map((tile) => [`${tile.level}/${tile.index}`, tile.hashes]));
    const hashOf = (node: TreeNode): Buffer => {
      const span = spanOf(node);
      const tile = stored.get(nameOf(node));
      if (tile === undefined || tile.length < span.to * HASH_BYTES)
        throw new TilesDamaged(`the tile ${nameOf(node)} is missing or cut`);
      return hashOfEntries(tile, span);
    };
    return ranges.map((range) => foldNodes(nodesOf(range).map(hashOf)));
  }
}

const nameOf = (node: TreeNode): string => {
  const { level, index } = spanOf(node);
  return `${level}/${index}`;
};
