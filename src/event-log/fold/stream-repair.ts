import type { Client } from 'pg';
import { type DedicatedConnections, fetchRows, PostgresFailure } from '../../database/index.js';
import { OperatorError } from '../../kernel/operator-error.js';
import type { AnyReadModel, Table } from '../read-model.js';
import { conflictingStreams } from './conflicting-streams.js';
import { modelOf } from './folded-chunks.js';
import { FIRE_DEFERRED, refusalOf, refuseChanged } from './read-back.js';
import { logRows, type StreamPlace, streamColumn } from './row-comparison.js';
import { STORED_EVENT, type StoredEvent, StreamFold } from './stream-fold.js';

/** Streams with live rows that differ from the log, and the tables of these rows. */
export class DifferingStreams {
  readonly tables = new Set<Table<object>>();
  private readonly byPlace = new Map<string, StreamFold>();

  constructor(private readonly models: readonly AnyReadModel[]) {}

  get streams(): readonly StreamFold[] {
    return [...this.byPlace.values()];
  }

  get size(): number {
    return this.byPlace.size;
  }

  has({ accountId, id }: StreamPlace): boolean {
    return this.byPlace.has(`${accountId} ${id}`);
  }

  /** Adds a stream, with its fold so far if there is one (`known`). Returns false if the stream is there already. */
  add(place: StreamPlace, known?: StreamFold): boolean {
    if (this.has(place)) return false;
    const { accountId, id } = place;
    this.byPlace.set(`${accountId} ${id}`, known ?? new StreamFold(accountId, id, modelOf(this.models, id)));
    return true;
  }

  rowsIn(table: Table<object>): readonly object[] {
    return this.streams.flatMap((stream) => stream.rowsIn(table));
  }
}

/**
 * How often a repair is tried after a deadlock, or after a unique value was taken although no row holds it any more.
 */
const MAX_ATTEMPTS = 10;

/** The rows that a table must have for some streams, as a statement takes them. */
interface WantedRows {
  readonly table: Table<object>;
  readonly values: unknown[];
}

interface Written {
  readonly removed: number;
  readonly written: number;
}

/** Replaces the rows of streams by those that the log makes now, while the writers of their accounts wait. */
export class StreamRepair {
  removed = 0;
  written = 0;
  /** The longest time that a head was locked, up to the end of the commit. */
  longestHeldMs = 0;

  constructor(
    private readonly connections: DedicatedConnections,
    private readonly client: Client,
  ) {}

  /**
   * Repairs these streams. Streams that hold a unique value of theirs are added and repaired in the same transaction.
   */
  async run(differing: DifferingStreams): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.connections.begin(this.client);
        return await this.write(differing);
      } catch (error) {
        // The rollback fails if the connection is lost. The first error says why.
        await this.client.query('rollback').catch(() => undefined);
        const { isDeadlock, isUniqueViolation, constraint } = PostgresFailure.of(error);
        if (isUniqueViolation && (await this.addConflicting(differing))) attempt = 0;
        else if (isUniqueViolation && attempt >= MAX_ATTEMPTS) throw takenTwice(constraint);
        else if (!(isDeadlock || isUniqueViolation) || attempt >= MAX_ATTEMPTS) throw refusalOf(error);
      }
    }
  }

  /** Folds once before it locks, so that under the lock only the last events of a long stream are left. */
  private async write(differing: DifferingStreams): Promise<void> {
    await this.client.query(SETTINGS);
    await this.foldOn(differing.streams);
    const accounts = new Set(differing.streams.map(({ accountId }) => accountId));
    await this.client.query(LOCK_HEADS, [[...accounts]]);
    const lockedMs = performance.now();
    try {
      await this.foldOn(differing.streams);
      const wanted = [...differing.tables].map((table) => ({ table, values: valuesOf(differing, table) }));
      const { removed, written } = await this.writeRows(wanted);
      await this.readBack(wanted);
      await this.connections.commit(this.client);
      this.removed += removed;
      this.written += written;
    } finally {
      this.longestHeldMs = Math.max(this.longestHeldMs, performance.now() - lockedMs);
    }
  }

  private async foldOn(streams: readonly StreamFold[]): Promise<void> {
    const folded = streams.filter(({ model }) => model !== undefined);
    const byPlace = new Map(folded.map((stream) => [`${stream.accountId} ${stream.id}`, stream]));
    const versions = folded.map(({ version }) => version);
    for await (const events of fetchRows<StoredEvent>(this.client, LATER_EVENTS, [...placesOf(folded), versions])) {
      for (const event of events) byPlace.get(`${event.account_id} ${event.stream_id}`)?.take(event);
    }
  }

  private async writeRows(wanted: readonly WantedRows[]): Promise<Written> {
    const total = { removed: 0, written: 0 };
    for (const { table, values } of wanted) {
      const { rows } = await this.client.query<Written>(writeRows(table), values);
      total.removed += rows[0]?.removed ?? 0;
      total.written += rows[0]?.written ?? 0;
    }
    return total;
  }

  /** Throws if the rows are not those of the log, although they were just written. */
  private async readBack(wanted: readonly WantedRows[]): Promise<void> {
    await this.client.query(FIRE_DEFERRED);
    const changed: string[] = [];
    for (const { table, values } of wanted) {
      const { rows } = await this.client.query<{ key: string }>(stillWrong(table), values);
      changed.push(...rows.map(({ key }) => `${table.name} ${key}`));
    }
    refuseChanged(changed);
  }

  private async addConflicting(differing: DifferingStreams): Promise<boolean> {
    let isNew = false;
    for (const table of differing.tables) {
      for (const place of await conflictingStreams(this.client, table, differing.rowsIn(table))) {
        if (differing.add(place)) isNew = true;
      }
    }
    return isNew;
  }
}

const takenTwice = (constraint = 'a unique index'): OperatorError =>
  new OperatorError(
    `two streams of the log need the same value of ${constraint}: the log is damaged; run audit verify, and restore a backup`,
  );

const valuesOf = (differing: DifferingStreams, table: Table<object>): unknown[] => [
  JSON.stringify(differing.rowsIn(table)),
  ...placesOf(differing.streams),
];

const placesOf = (streams: readonly StreamPlace[]): readonly [accounts: string[], ids: string[]] => [
  streams.map(({ accountId }) => accountId),
  streams.map(({ id }) => id),
];

/** The first setting lets triggers accept rows in any order. With the others PostgreSQL does not read a whole table. */
const SETTINGS = `set local tunnel_access.repair = 'on'; set local enable_seqscan = off; set local enable_bitmapscan = off`;

/** The order prevents a deadlock of two repairs. An account without a log has no head, and nobody writes to it. */
const LOCK_HEADS = 'select from log_heads where account_id = any ($1) order by account_id for update';

/**
 * `offset 0` makes PostgreSQL look up stream by stream. A merge join would read the index of a long log from its
 * beginning.
 */
const LATER_EVENTS = `select ${STORED_EVENT}
  from unnest($1::text[], $2::text[], $3::int[]) as s(account_id, stream_id, version) cross join lateral (
    select * from events e where e.account_id = s.account_id and e.stream_id = s.stream_id and e.stream_version > s.version
    offset 0) e
  order by e.account_id, e.stream_id, e.stream_version`;

/** SQL of the log's rows, and of the keys under which a live row of these streams differs from the log. */
function logAndWrong(table: Table<object>): string {
  const { name, columns, primaryKey } = table;
  const live = `select t.* from unnest($2::text[], $3::text[]) as s(account_id, id) cross join lateral (
      select ${columns} from ${name} t where t.account_id = s.account_id and t.${streamColumn(table)} = s.id offset 0) t`;
  return `log as materialized (${logRows(table)}),
    wrong as materialized (
      select ${primaryKey} from (${live}) live full join log using (${primaryKey}) where live is distinct from log)`;
}

/**
 * Deletes the live rows of these streams that differ from the log, and inserts the log's rows. The insertion depends on
 * the deletion, because a unique value may move from one row to another and PostgreSQL might insert first.
 */
function writeRows(table: Table<object>): string {
  const { name, columns, primaryKey } = table;
  const same = primaryKey.map((column) => `t.${column} = wrong.${column}`).join(' and ');
  return `with ${logAndWrong(table)},
    removed as (delete from ${name} t using wrong where ${same} returning 1),
    written as (
      insert into ${name} (${columns}) select ${columns} from log join wrong using (${primaryKey})
      where (select count(*) from removed) >= 0 returning 1)
    select (select count(*) from removed)::int as removed, (select count(*) from written)::int as written`;
}

const stillWrong = (table: Table<object>): string =>
  `with ${logAndWrong(table)} select concat_ws(' ', ${table.primaryKey}) as key from wrong order by 1`;
