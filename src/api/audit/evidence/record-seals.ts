import type { Pool } from 'pg';
import {
  inTransaction,
  type NamedStatement,
  onlyRow,
  onPrimary,
  queryNamed,
  WRITE_LIMITS,
} from '../../../database/index.js';
import {
  type EventLog,
  eventIdOf,
  RECORD_TABLES,
  RecordPages,
  type RecordsSealed,
  SealedDays,
  sealedRecordsReadModel,
  sealedStreamOf,
} from '../../../event-log/index.js';

const HOUR_MS = 3_600_000;
/** The clock of the database may step back by this much. */
const GRACE_MS = 60_000;
const ACCOUNTS_AT_ONCE = 1_000;
/** A page is a transaction. */
const PAGE = { rows: 5_000, characters: 4 * 1024 * 1024 };
const BY_SERVICE = { actor: 'system' };
/** The first event covers all records of before. */
const BEGINNING = new Date(0).toISOString();

const MOMENT = onPrimary({
  name: 'moment_of_records',
  text: `select pg_snapshot_xmin(pg_current_snapshot())::text as oldest,
      (extract(epoch from clock_timestamp()) * 1000)::float8 as now`,
});
/** A new id is greater than all ids of before. The greatest id of a snapshot is not: newer transactions may be open. */
const NEW_ID = onPrimary({ name: 'new_transaction_id', text: 'select pg_current_xact_id()::text as id' });

const firstSettled = RECORD_TABLES.map(
  (table) => `(select t.settled_at from ${table} t where t.account_id = h.account_id and t.account_id <> ''
    and t.settled_at >= coalesce(last.upto, '-infinity') and t.settled_at < $2 order by t.settled_at limit 1)`,
).join(', ');

/** Which of the next accounts after $1 have records that settled before $2 and are not sealed. */
const UNSEALED: NamedStatement = {
  name: 'unsealed_records',
  text: `with heads as materialized (
      select account_id from log_heads where account_id > $1 order by account_id limit ${ACCOUNTS_AT_ONCE}),
    found as (
      select h.account_id as "accountId", last.sealed, (extract(epoch from first.at) * 1000)::float8 as first
      from heads h
      left join lateral (
        select e.data::json ->> 'to' as sealed, (e.data::json ->> 'to')::timestamptz as upto from events e
        where e.account_id = h.account_id and e.stream_id > 'rec_' and e.stream_id < 'rec_~'
        order by e.stream_id desc limit 1) last on true
      cross join lateral (select least(${firstSettled}) as at) first
      where first.at is not null)
    select (select case when count(*) < ${ACCOUNTS_AT_ONCE} then '' else max(account_id) end from heads) as "upTo",
      (select coalesce(json_agg(found), '[]') from found) as accounts`,
};

interface Unsealed {
  readonly accountId: string;
  /** The end of the last sealed hour. Null: none is sealed. */
  readonly sealed: string | null;
  /** When the first record settled that is not sealed, in milliseconds since 1970. */
  readonly first: number;
}

type Moment = { readonly oldest: string; readonly now: number };

/** The last hour that has ended, and the id of a transaction that began after it. */
interface EndedHour {
  readonly end: number;
  readonly id: bigint;
}

/** Seals the records of all accounts by events, hour by hour. Instances that do it at once write the same events. */
export class RecordSeals {
  private ended: EndedHour | undefined;
  /** The end of the last hour that all accounts have sealed. */
  private done = 0;

  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
  ) {}

  /** Seals what can be sealed now. An account whose records cannot be sealed keeps no other waiting. */
  async next(stopping: AbortSignal): Promise<void> {
    // By this process's clock, so that most calls ask nothing.
    if (Date.now() - GRACE_MS < this.done + HOUR_MS) return;
    const end = await this.safeEnd();
    if (end === undefined || end <= this.done) return;
    await this.sealUntil(end, stopping);
    if (!stopping.aborted) this.done = end;
  }

  /**
   * The end of the last hour that no open transaction can add a record to. A record gets its time when its transaction
   * gets its id, so all transactions must have ended whose ids are less than one of after the hour.
   */
  private async safeEnd(): Promise<number | undefined> {
    const { now } = await this.moment();
    const end = Math.floor((now - GRACE_MS) / HOUR_MS) * HOUR_MS;
    if (this.ended?.end !== end) {
      const { rows } = await queryNamed<{ id: string }>(this.pool, NEW_ID, [], WRITE_LIMITS);
      this.ended = { end, id: BigInt(onlyRow(rows).id) };
    }
    return BigInt((await this.moment()).oldest) > this.ended.id ? end : undefined;
  }

  private async moment(): Promise<Moment> {
    return onlyRow((await queryNamed<Moment>(this.pool, MOMENT, [])).rows);
  }

  private async sealUntil(end: number, stopping: AbortSignal): Promise<void> {
    let failure: { readonly error: unknown } | undefined;
    for (let after = ''; ; ) {
      const { rows } = await queryNamed<{ accounts: Unsealed[]; upTo: string }>(this.pool, UNSEALED, [
        after,
        new Date(end),
      ]);
      const { accounts, upTo } = onlyRow(rows);
      let sealed = 0;
      for (const account of accounts) {
        if (stopping.aborted) return;
        await this.seal(account).then(
          () => (sealed += 1),
          (error: unknown) => (failure = { error }),
        );
      }
      // An account may have further hours.
      if (sealed > 0) continue;
      if (upTo === '') break;
      after = upTo;
    }
    if (failure !== undefined) throw failure.error;
  }

  /** Seals the first hour that has a record. */
  private async seal({ accountId, sealed, first }: Unsealed): Promise<void> {
    const from = sealed ?? BEGINNING;
    const to = new Date((Math.floor(first / HOUR_MS) + 1) * HOUR_MS).toISOString();
    const kinds: Record<string, ReturnType<SealedDays['end']>> = {};
    for (const table of RECORD_TABLES) {
      const days = await this.daysOf(new RecordPages(table, { accountId, from, to }));
      if (days.length > 0) kinds[table] = days;
    }
    const sealing: RecordsSealed = { type: 'records_sealed.v1', data: { from, to, kinds } };
    const stream = { model: sealedRecordsReadModel, id: sealedStreamOf(to), before: undefined, after: undefined };
    const eventId = eventIdOf({ ...BY_SERVICE, idempotency_key: `records ${accountId} ${to}` });
    const append = { accountId, metadata: BY_SERVICE, occurredAt: new Date() };
    await this.log.append({ ...append, streams: [{ ...stream, events: [sealing], eventId }] });
  }

  private async daysOf(pages: RecordPages): Promise<ReturnType<SealedDays['end']>> {
    const days = new SealedDays();
    for (;;) {
      const lines = await inTransaction(this.pool, (transaction) => pages.next(transaction, PAGE));
      if (lines.length === 0) return days.end();
      for (const { id, line } of lines) days.add(id, line);
    }
  }
}
