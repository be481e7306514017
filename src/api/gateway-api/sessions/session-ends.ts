import type { NamedStatement, Transaction } from '../../../database/index.js';
import { type IdPrefix, idAt } from '../../../kernel/ids.js';
import type { ReportedConnection, ReportedEnd } from './session-report.js';
import {
  COUNT_PRESENCE,
  END_SESSIONS,
  END_TUNNELS,
  RECORD_EDGE_CONNECTIONS,
  TUNNELS_OF_SESSIONS,
  UNREPORTED_SESSIONS,
  UNREPORTED_TUNNELS,
} from './session-statements.js';

/** The most rows of one step. */
const ROWS_AT_ONCE = 1_000;

/** A row of an account. */
export interface Row {
  readonly account_id: string;
  readonly id: string;
}

/** A session that opened or ended, and when. */
export type SessionOfCredential = Row & { readonly credential_id: string; readonly seen_at: Date };

/** What carried a connection to an edge, as far as its record says it. */
type KeptIds = Readonly<Record<'session_id' | 'tunnel_id' | 'credential_id', string | null>>;

/** An end of which nothing is known but when and why. */
const plainEnd = ({ account_id, id }: Row, reason: string, ago_ms: number): ReportedEnd => ({
  ...{ account_id, id, reason, ago_ms },
});

/** Ends sessions and tunnels of one gateway in a transaction: each open row becomes a record. */
export class SessionEnds {
  /** By how much the open sessions of credentials change, by account and credential. */
  private readonly presence = new Map<string, SessionOfCredential & { readonly change: number }>();

  constructor(
    private readonly transaction: Transaction,
    private readonly gatewayId: string,
  ) {}

  /** Returns the ids that count. */
  async endTunnels(ends: readonly ReportedEnd[]): Promise<ReadonlySet<string>> {
    if (ends.length === 0) return new Set();
    const { rows } = await this.transaction.run<{ id: string }>(END_TUNNELS, this.values('tnr', ends));
    return new Set(rows.map(({ id }) => id));
  }

  /** Also ends their tunnels that are still open. Returns the ids that count. */
  async endSessions(ends: readonly ReportedEnd[]): Promise<ReadonlySet<string>> {
    if (ends.length === 0) return new Set();
    const open = await this.transaction.run<Row & { readonly session_id: string }>(TUNNELS_OF_SESSIONS, [
      this.gatewayId,
      JSON.stringify(ends),
    ]);
    const bySession = new Map(ends.map((end) => [end.id, end]));
    const left = open.rows.flatMap((row) => {
      const end = bySession.get(row.session_id);
      return end === undefined ? [] : [plainEnd(row, end.reason, end.ago_ms)];
    });
    await this.endTunnels(left);
    const { rows } = await this.transaction.run<SessionOfCredential>(END_SESSIONS, this.values('tsr', ends));
    this.count(rows, -1);
    return new Set(rows.map(({ id }) => id));
  }

  /**
   * Ends some of what no report from `since` on has: tunnels before their sessions. False: nothing is left. A step is
   * bounded, however many tunnels a session has.
   */
  async endUnreported(since: number, reason: string, agoMs: number): Promise<boolean> {
    const tunnels = await this.unreported(UNREPORTED_TUNNELS, since);
    await this.endTunnels(tunnels.map((row) => plainEnd(row, reason, agoMs)));
    if (tunnels.length > 0) return true;
    const sessions = await this.unreported(UNREPORTED_SESSIONS, since);
    await this.endSessions(sessions.map((row) => plainEnd(row, reason, agoMs)));
    return sessions.length > 0;
  }

  /** Returns for each the ids that its record keeps; undefined if it does not count. */
  async recordEdgeConnections(
    ends: readonly ReportedConnection[],
    gatewayName: string | undefined,
  ): Promise<readonly (KeptIds | undefined)[]> {
    if (ends.length === 0) return [];
    const rows = ends.map((end) => ({ ...end, record_id: recordId('ec', end.ago_ms) }));
    const values = [this.gatewayId, JSON.stringify(rows), gatewayName ?? null];
    const counted = await this.transaction.run<KeptIds & { id: string }>(RECORD_EDGE_CONNECTIONS, values);
    const kept = new Map(counted.rows.map((row) => [row.id, row]));
    return rows.map(({ record_id }) => kept.get(record_id));
  }

  /** Counts sessions that opened (1) or ended (-1) for their credentials. */
  count(sessions: readonly SessionOfCredential[], by: 1 | -1): void {
    for (const session of sessions) {
      const key = `${session.account_id} ${session.credential_id}`;
      const { change, seen_at: seenAt } = this.presence.get(key) ?? { ...session, change: 0 };
      const seen_at = new Date(Math.max(session.seen_at.getTime(), seenAt.getTime()));
      this.presence.set(key, { ...session, seen_at, change: change + by });
    }
  }

  /** Called once, at the end of the transaction: two gateways that write the same credentials twice could deadlock. */
  async writePresence(): Promise<void> {
    if (this.presence.size === 0) return;
    await this.transaction.run(COUNT_PRESENCE, [JSON.stringify([...this.presence.values()])]);
  }

  private async unreported(statement: NamedStatement, since: number): Promise<readonly Row[]> {
    const values = [this.gatewayId, since, ROWS_AT_ONCE];
    return (await this.transaction.run<Row & Record<string, unknown>>(statement, values)).rows;
  }

  private values(prefix: IdPrefix, ends: readonly ReportedEnd[]): readonly unknown[] {
    const rows = ends.map((end) => ({ ...end, record_id: recordId(prefix, end.ago_ms) }));
    return [this.gatewayId, JSON.stringify(rows)];
  }
}

/** The id of a new record is at most this old, however late an end is told: who looks for new ones reads few partitions. */
export const MAX_LATE_MS = 7 * 24 * 3_600_000;

/** Records have the time of the end in their ids, by which they are listed and kept. */
const recordId = (prefix: IdPrefix, agoMs: number): string =>
  idAt(prefix, new Date(Date.now() - Math.min(agoMs, MAX_LATE_MS)));
