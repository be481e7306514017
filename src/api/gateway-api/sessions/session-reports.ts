import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { inTransaction, type NamedStatement, onlyRow, POOL, type Transaction } from '../../../database/index.js';
import { type Gateway, servesAccount } from '../../../kernel/caller.js';
import { firstIdOf, type IdPrefix, isId } from '../../../kernel/ids.js';
import { LimitedWork } from '../../../kernel/limited-work.js';
import { malformed, Problem } from '../../../kernel/problem.js';
import { type Row, SessionEnds, type SessionOfCredential } from './session-ends.js';
import { LISTS, type SessionReport } from './session-report.js';
import {
  ADD_GATEWAY,
  COUNT_TUNNELS,
  FORGET_ENDS_OF_MS,
  FORGET_SESSION_ENDS,
  FORGET_TUNNEL_ENDS,
  HEAR_GATEWAY,
  LOCK_GATEWAY,
  LOCK_TOKEN,
  OPEN_SESSIONS,
  OPEN_TUNNELS,
  STOPPED_SESSIONS,
  TELL_OF_GATEWAY,
  USE_OF_TOKEN,
  USE_SESSIONS,
  USE_TUNNELS,
} from './session-statements.js';

const MAX_GATEWAYS_OF_TOKEN = 100;
const MAX_SESSIONS_OF_TOKEN = 50_000;
const MAX_TUNNELS_OF_GATEWAY = 100_000;
/** Reports at once, of all tokens and of one: each holds a connection of the pool, which questions of gateways need too. */
const LIMITS = { atOnce: 4, atOnceOfAccount: 2, waiting: 2_000, waitingOfAccount: 200 };

/** Why a part of a report does not count. */
export const IGNORED = [
  'unknown_credential',
  'unknown_session',
  'unknown_tunnel',
  'unknown_edge',
  'in_future',
  'too_many_sessions',
  'too_many_tunnels',
] as const;

/** What carried a connection to an edge, and why its id does not count. */
const CARRIERS = [
  ['session_id', 'unknown_session'],
  ['tunnel_id', 'unknown_tunnel'],
  ['credential_id', 'unknown_credential'],
] as const;

interface Ignored {
  readonly id: string;
  readonly reason: (typeof IGNORED)[number];
}

export interface Stop {
  readonly account_id: string;
  readonly session_id: string;
  readonly restart: boolean;
  /** Name or id of the user or bot. */
  readonly by: string;
}

export interface ReportAnswer {
  /** False: this report, or a later one, has been counted before. */
  readonly counted: boolean;
  readonly ignored: readonly Ignored[];
  /** The service does not hold the whole state of the gateway. */
  readonly send_whole: boolean;
  /** Sessions that somebody stopped, in the answer to the end of a whole state. */
  readonly stops: readonly Stop[];
}

interface GatewayRun {
  readonly token: string;
  readonly gateway_account: string | null;
  readonly first_report: number;
  readonly last_report: number;
  readonly is_whole: boolean;
  /** It was silent for too long, and its sessions have ended. */
  readonly is_lost: boolean;
}

/** Takes the reports of gateways. Each is one transaction, so it counts wholly or not at all. */
@Injectable()
export class SessionReports {
  private readonly reports = new LimitedWork({ noun: 'reports of gateways', ...LIMITS });

  constructor(@Inject(POOL) private readonly pool: Pool) {}

  /** Throws Problem 403 for an account that the gateway does not serve, and 429 for one gateway too many. */
  take(gateway: Gateway, report: SessionReport): Promise<ReportAnswer> {
    refuseOtherAccounts(gateway, report);
    const { report: number, whole_since: since = 1 } = report;
    if (since > number) throw malformed(`whole_since must be a whole number from 1 to ${number}.`);
    const token = String(gateway.identity);
    this.reports.refuseIfFull(token);
    return this.reports.run(token, () => this.takeWhole(gateway, report));
  }

  private takeWhole(gateway: Gateway, report: SessionReport): Promise<ReportAnswer> {
    return inTransaction(this.pool, async (transaction) => {
      const run = await this.runOf(transaction, gateway, report);
      const isNew = run === undefined || run.is_lost;
      const { gateway_id: id, report: number, whole_since: since, gateway: about } = report;
      const counted = number > (run?.last_report ?? 0);
      const first = isNew ? number : run.first_report;
      const ends = counted && since !== undefined && since >= first;
      await transaction.run(HEAR_GATEWAY, [id, number, counted, ends]);
      const sendWhole = !ends && (isNew || !run.is_whole);
      if (!counted) return { counted, ignored: [], send_whole: sendWhole, stops: [] };
      if (about !== undefined) await transaction.run(TELL_OF_GATEWAY, [id, about]);
      const counting = new CountedReport(transaction, gateway, report);
      const ignored = await counting.count(isNew ? number > 1 : !run.is_whole);
      const stops = ends ? (await transaction.run<Stop & object>(STOPPED_SESSIONS, [id])).rows : [];
      return { counted, ignored, send_whole: sendWhole, stops };
    });
  }

  /** Locks the run of the gateway. Undefined: this is its first report. */
  private async runOf(
    transaction: Transaction,
    gateway: Gateway,
    { gateway_id: id, report }: SessionReport,
  ): Promise<GatewayRun | undefined> {
    const token = tokenOf(gateway);
    const lock = async () => (await transaction.run<GatewayRun & object>(LOCK_GATEWAY, [id])).rows[0];
    const known = await lock();
    if (known === undefined) await refuseTooMany(transaction, token);
    const added = known ?? (await transaction.run(ADD_GATEWAY, [id, ...token, report])).rows[0];
    // Another copy of this report was faster if no row was added.
    const run = known ?? (added === undefined ? await lock() : undefined);
    if (run !== undefined && (run.token !== token[0] || run.gateway_account !== token[1])) {
      throw new Problem('gateway_not_yours', 'This gateway_id belongs to another token; make a new one at each start.');
    }
    return run;
  }
}

const tokenOf = ({ identity, accountId }: Gateway): readonly unknown[] => [identity, accountId ?? null];

async function refuseTooMany(transaction: Transaction, token: readonly unknown[]): Promise<void> {
  await transaction.run(LOCK_TOKEN, token);
  const { gateways } = await useOf(transaction, token);
  if (gateways < MAX_GATEWAYS_OF_TOKEN) return;
  throw new Problem('too_many_requests', `This token has ${gateways} gateways, which is the maximum.`);
}

/** What a token has now. */
async function useOf(transaction: Transaction, token: readonly unknown[]) {
  const { rows } = await transaction.run<{ gateways: number; sessions: number }>(USE_OF_TOKEN, token);
  return onlyRow(rows);
}

function refuseOtherAccounts(gateway: Gateway, report: SessionReport): void {
  for (const list of LISTS) {
    for (const [n, { account_id }] of report[list].entries()) {
      if (servesAccount(gateway, account_id)) continue;
      const item = `${list}[${n}]`;
      throw new Problem('gateway_not_yours', `${item} is of an account that this token does not serve.`, { item });
    }
  }
}

/** A report that counts. Its parts take effect in the order of the methods that `count` calls. */
class CountedReport {
  private readonly ignored: Ignored[] = [];
  private readonly ends: SessionEnds;

  constructor(
    private readonly transaction: Transaction,
    private readonly gateway: Gateway,
    private readonly report: SessionReport,
  ) {
    this.ends = new SessionEnds(transaction, report.gateway_id);
  }

  /** `mayBeOpenAgain`: the gateway was silent, and its sessions may have been ended meanwhile. */
  async count(mayBeOpenAgain: boolean): Promise<readonly Ignored[]> {
    await this.openSessions(mayBeOpenAgain);
    await this.openTunnels();
    await this.use();
    const tunnels = this.past(this.report.ended_tunnels);
    this.ignore(tunnels, await this.ends.endTunnels(tunnels), 'unknown_tunnel');
    const sessions = this.past(this.report.ended_sessions);
    this.ignore(sessions, await this.ends.endSessions(sessions), 'unknown_session');
    await this.recordEdgeConnections();
    const { whole_since: wholeSince } = this.report;
    // What the whole state does not name, the gateway no longer has.
    if (wholeSince !== undefined) while (await this.ends.endUnreported(wholeSince, 'lost', 0));
    await this.ends.writePresence();
    return this.ignored;
  }

  private async openSessions(mayBeOpenAgain: boolean): Promise<void> {
    const sessions = this.past(this.report.sessions);
    if (sessions.length === 0) return;
    const { sessions: open } = await useOf(this.transaction, tokenOf(this.gateway));
    const hasRoom = open < MAX_SESSIONS_OF_TOKEN;
    const rows = await this.run<SessionOfCredential | (Row & { readonly credential_id: null })>(
      OPEN_SESSIONS,
      sessions,
      [this.report.report, this.gateway.name ?? null, hasRoom],
    );
    const opened = rows.filter((row): row is SessionOfCredential => row.credential_id !== null);
    this.ends.count(opened, 1);
    if (mayBeOpenAgain && rows.length > 0) await this.forgetEnds(rows);
    this.ignore(sessions, idsOf(rows), hasRoom ? 'unknown_credential' : 'too_many_sessions');
  }

  /** A session may be open still while its tunnels were ended. */
  private async forgetEnds(open: readonly Row[]): Promise<void> {
    const accounts = [...new Set(open.map(({ account_id }) => account_id))];
    const since = (prefix: IdPrefix): string => firstIdOf(prefix, new Date(Date.now() - FORGET_ENDS_OF_MS));
    const ids = open.map(({ id }) => id);
    await this.transaction.run(FORGET_SESSION_ENDS, [this.report.gateway_id, ids, since('tsr'), accounts]);
    await this.transaction.run(FORGET_TUNNEL_ENDS, [accounts, ids, since('tnr')]);
  }

  private async openTunnels(): Promise<void> {
    const tunnels = this.past(this.report.tunnels);
    if (tunnels.length === 0) return;
    const counted = await this.transaction.run<{ tunnels: number }>(COUNT_TUNNELS, [this.report.gateway_id]);
    const hasRoom = onlyRow(counted.rows).tunnels < MAX_TUNNELS_OF_GATEWAY;
    const rows = await this.run<{ id: string; is_session_open: boolean; is_counted: boolean }>(OPEN_TUNNELS, tunnels, [
      this.report.report,
      hasRoom,
    ]);
    const whyNot = hasRoom ? 'unknown_credential' : 'too_many_tunnels';
    for (const { id, is_session_open: isOpen, is_counted: isCounted } of rows) {
      if (!isCounted) this.ignored.push({ id, reason: isOpen ? whyNot : 'unknown_session' });
    }
  }

  private async use(): Promise<void> {
    const usedOf = (prefix: IdPrefix) => this.report.used.filter(({ id }) => isId(id, prefix));
    const [sessions, tunnels] = [usedOf('ts'), usedOf('tn')];
    if (sessions.length > 0) this.ignore(sessions, idsOf(await this.run(USE_SESSIONS, sessions)), 'unknown_session');
    if (tunnels.length > 0) this.ignore(tunnels, idsOf(await this.run(USE_TUNNELS, tunnels)), 'unknown_tunnel');
  }

  private async recordEdgeConnections(): Promise<void> {
    const ended = this.past(
      this.report.edge_connections.map((one) => ({ ...one, id: one.edge_id ?? one.credential_id ?? '' })),
    );
    const recorded = await this.ends.recordEdgeConnections(ended, this.gateway.name);
    for (const [n, sent] of ended.entries()) {
      const kept = recorded[n];
      if (kept === undefined)
        this.ignored.push({ id: sent.id, reason: sent.host === undefined ? 'unknown_edge' : 'unknown_credential' });
      for (const [field, reason] of CARRIERS) {
        const id = sent[field];
        if (id !== undefined && kept?.[field] === null) this.ignored.push({ id, reason });
      }
    }
  }

  /** The items that are not of the future. */
  private past<Item extends { readonly id: string; readonly ago_ms: number }>(items: readonly Item[]): readonly Item[] {
    return items.filter(({ id, ago_ms }) => {
      if (ago_ms < 0) this.ignored.push({ id, reason: 'in_future' });
      return ago_ms >= 0;
    });
  }

  private ignore(
    items: readonly { readonly id: string }[],
    counted: ReadonlySet<string>,
    reason: Ignored['reason'],
  ): void {
    for (const { id } of items) if (!counted.has(id)) this.ignored.push({ id, reason });
  }

  private async run<R extends object>(
    statement: NamedStatement,
    items: readonly object[],
    further: readonly unknown[] = [],
  ): Promise<readonly R[]> {
    const values = [this.report.gateway_id, JSON.stringify(items), ...further];
    return (await this.transaction.run<R & Record<string, unknown>>(statement, values)).rows;
  }
}

const idsOf = (rows: readonly { readonly id: string }[]): ReadonlySet<string> => new Set(rows.map(({ id }) => id));
