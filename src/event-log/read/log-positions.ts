import type { Pool } from 'pg';
import { durableLimits, PostgresFailure, queryNamed } from '../../database/index.js';
import { malformed, type Problem, quoted } from '../../kernel/problem.js';
import { CommitHorizon } from './commit-horizon.js';

interface Head {
  readonly size: number;
  /** The position of the last event that may have taken rights. */
  readonly rightsPosition: number;
}

/** A position, and the time that it stands for. */
export interface Moment {
  readonly position: number;
  /** In milliseconds since 1970, by the clock of the database. */
  readonly timeMs: number;
}

const NO_HEAD: Head = { size: 0, rightsPosition: 0 };

interface TimeRow {
  /** Seconds since 1970, to the microsecond. */
  readonly time: number;
  /** True if a later event is recorded, so that no append can add an event of this time. */
  readonly is_final: boolean;
  readonly is_future: boolean;
}

const HEAD = {
  name: 'head_of_account',
  text: `select size::float8 as size, rights_position::float8 as "rightsPosition" from log_heads where account_id = $1`,
};
const SIZES = {
  name: 'log_sizes_of_accounts',
  text: 'select account_id, size::float8 as size from log_heads where account_id = any($1::text[])',
};
/** The commit of this update waits for the standbys, and thus for every earlier change too. */
const DURABLE_HEAD = {
  name: 'durable_head',
  text: `update log_heads set size = size where account_id = $1
    returning size::float8 as size, rights_position::float8 as "rightsPosition"`,
};
const TIME_AT_HEAD = {
  name: 'time_at_head',
  text: `select extract(epoch from $2::timestamptz)::float8 as time, recorded_at > $2::timestamptz as is_final,
      $2::timestamptz > clock_timestamp() as is_future
    from log_heads where account_id = $1`,
};
/** recorded_at increases with the position, so a binary search over the primary key finds a time. */
const POSITION_AT = {
  name: 'position_at',
  text: `with recursive search(low, high) as (
      select 0::bigint, size from log_heads where account_id = $1
      union all
      select case when e.recorded_at <= $2::timestamptz then e.position else low end,
        case when e.recorded_at <= $2::timestamptz then high else e.position - 1 end
      from search join events e on e.account_id = $1 and e.position = (low + high + 1) / 2 where low < high)
    select low::float8 as position from search where low = high`,
};
const TIME_OF = {
  name: 'time_of_position',
  text: `select extract(epoch from coalesce($3::timestamptz, e.recorded_at))::float8 * 1000 as "timeMs"
    from events e where e.account_id = $1 and e.position = $2`,
};

const POSITION = /^\d{1,15}$/;
/** RFC 3339. A space stands for a plus sign, since a URL decodes `+` as a space. */
const TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+ -]\d\d:\d\d)$/;

/**
 * The horizon for a command that has the right to SELECT only. It cannot wait for appends in progress, and sees what is
 * committed.
 */
export const AS_COMMITTED = { wait: () => Promise.resolve() };

/** Looks up positions of an account's log: its head, and the position that a caller names by number or by time. */
export class LogPositions {
  /** `horizon` waits for appends in progress. For this it locks the head. */
  constructor(
    private readonly pool: Pool,
    private readonly horizon: Pick<CommitHorizon, 'wait'> = new CommitHorizon(pool),
  ) {}

  /** The account's newest position; 0 for an account without a log. */
  async head(accountId: string): Promise<number> {
    return (await this.headRow(accountId)).size;
  }

  async headRow(accountId: string): Promise<Head> {
    return (await queryNamed<Head & object>(this.pool, HEAD, [accountId])).rows[0] ?? NO_HEAD;
  }

  /** The newest position of each account that has a log. */
  async headsOf(accountIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const { rows } = await queryNamed<{ account_id: string; size: number }>(this.pool, SIZES, [accountIds]);
    return new Map(rows.map(({ account_id, size }) => [account_id, size]));
  }

  /** The head, once everything up to it is as durable as an acknowledged change. */
  async durableHeadRow(accountId: string, deadline?: number): Promise<Head> {
    const { rows } = await queryNamed<Head & Record<string, number>>(
      this.pool,
      DURABLE_HEAD,
      [accountId],
      durableLimits(deadline),
    );
    return rows[0] ?? NO_HEAD;
  }

  /**
   * Parses the parameter `name`. `text` is a position, or an RFC 3339 time, which means the newest position recorded
   * until then. Throws Problem for any other text, and for a position or time in the future.
   */
  async positionOf(accountId: string, name: string, text: string): Promise<number> {
    if (TIME.test(text)) return this.positionAt(accountId, name, text, 'past');
    if (!POSITION.test(text)) throw malformedMoment(name, text, 'a log position or an RFC 3339 time');
    const [position, head] = [Number(text), await this.head(accountId)];
    if (position > head) {
      throw malformed(
        `${name} ${quoted(text)} is in the future: the log ends at position ${head}. If the log gave you this position, its end is lost.`,
      );
    }
    return position;
  }

  /** The same with its time: a position stands for that of its event. */
  async momentOf(accountId: string, name: string, text: string): Promise<Moment> {
    const position = await this.positionOf(accountId, name, text);
    const values = [accountId, position, TIME.test(text) ? text.replace(' ', '+') : null];
    const { rows } = await queryNamed<{ timeMs: number }>(this.pool, TIME_OF, values);
    return { position, timeMs: rows[0]?.timeMs ?? 0 };
  }

  /**
   * The newest position recorded until an RFC 3339 time. Throws Problem for any other text, or for a future time that
   * is not `allowed`.
   */
  async positionAt(accountId: string, name: string, text: string, allowed: 'past' | 'future'): Promise<number> {
    if (!TIME.test(text)) throw malformedMoment(name, text, 'an RFC 3339 time');
    const time = text.replace(' ', '+');
    const at = await this.timeAtHead(accountId, time).catch((error) => {
      throw PostgresFailure.of(error).isAboutData ? malformedMoment(name, text, 'an RFC 3339 time') : error;
    });
    if (at.is_future && allowed === 'past') {
      throw malformed(`${name} ${quoted(text)} is in the future.`);
    }
    if (!at.is_final && !at.is_future) await this.horizon.wait(accountId, at.time);
    const { rows } = await queryNamed<{ position: number }>(this.pool, POSITION_AT, [accountId, time]);
    return rows[0]?.position ?? 0;
  }

  private async timeAtHead(accountId: string, time: string): Promise<TimeRow> {
    const { rows } = await queryNamed<TimeRow>(this.pool, TIME_AT_HEAD, [accountId, time]);
    return rows[0] ?? { time: 0, is_final: true, is_future: false };
  }
}

const malformedMoment = (name: string, text: string, expected: string): Problem =>
  malformed(`${name} ${quoted(text)} is not ${expected} such as 2026-11-21T11:45:07Z.`);
