import type { Client } from 'pg';
import { copyParts } from '../../database/copy/copy-parts.js';
import { sqlLiteral } from '../../database/copy/sql-literal.js';
import { workAhead } from '../../database/cursor.js';
import {
  DedicatedConnections,
  exportSnapshot,
  type MaintenanceDatabase,
} from '../../database/dedicated-connections.js';
import type { AnyReadModel } from '../read-model.js';
import { SealedLogs } from '../seal/sealed-logs.js';
import type { VerifierKey } from '../tree/signed-note.js';
import { checkerOf } from './check-threads.js';
import { COPIED_COLUMNS, eventsOfPart, partsOf } from './copied-events.js';
import { knownTypes } from './event-checks.js';
import { FaultReport } from './fault-report.js';
import { guardFaults } from './guard-checks.js';
import { accountOf, type KeptCheckpoint, KeptChecks } from './kept-checks.js';
import { LogChecks } from './log-checks.js';
import { SealedChecks } from './sealed-checks.js';
import { streamFaults } from './stream-checks.js';

/** An inconsistency of a log, which arises only if another program than the service wrote to it. */
export interface Fault {
  /** Undefined: of all accounts. */
  readonly account: string | undefined;
  /** The fault in words, with its position. */
  readonly what: string;
}

export interface VerifyWatcher {
  /** Undefined: all accounts. */
  readonly account: string | undefined;
  /** The keys that may have signed an account's checkpoints; none: their signatures are not checked. */
  readonly keysOf: (account: string) => readonly VerifierKey[];
  /** Checkpoints that were kept outside of the database, in the order of their sizes. */
  readonly kept?: readonly KeptCheckpoint[];
  readonly begin: (account: string, events: number) => void;
  readonly events: (count: number) => void;
  readonly fault: (fault: Fault) => void;
}

interface Verified {
  readonly accounts: number;
  readonly events: number;
}

export const verify = (
  database: MaintenanceDatabase,
  models: readonly AnyReadModel[],
  watcher: VerifyWatcher,
): Promise<Verified> => DedicatedConnections.use(database, (connections) => checkLogs(connections, models, watcher));

/**
 * Checks each log in one snapshot, the given one or a new one: positions and events (see log-checks.ts), every stream
 * (see stream-checks.ts) and the guard of the table.
 */
export async function checkLogs(
  connections: DedicatedConnections,
  models: readonly AnyReadModel[],
  watcher: VerifyWatcher,
  snapshot?: string,
): Promise<Verified> {
  const client = await connections.openSnapshot(snapshot);
  const shared = snapshot ?? (await exportSnapshot(client));
  const [ofEvents, ofStreams] = [await connections.openSnapshot(shared), await connections.openSnapshot(shared)];
  await ofEvents.query(IN_POSITION_ORDER);
  const logs = new SealedLogs({ run: ({ text }, values) => client.query(text, [...values]) });
  for (const what of await guardFaults(client)) watcher.fault({ account: undefined, what });
  const { rows } = await client.query<{ account_id: string; size: string }>(ACCOUNTS, [watcher.account ?? null]);
  let events = 0;
  for (const { account_id: account, size } of rows) {
    watcher.begin(account, Number(size));
    events += await verifyAccount({ ofEvents, ofStreams, logs, models }, { account, size: Number(size) }, watcher);
  }
  for (const one of watcher.kept ?? []) refuseWithoutLog(one, rows, watcher);
  await Promise.all([client, ofEvents, ofStreams].map((one) => connections.release(one)));
  return { accounts: rows.length, events };
}

const keptOf = ({ kept = [] }: VerifyWatcher, account: string): KeptCheckpoint[] =>
  kept.filter((one) => accountOf(one) === account);

/** A log that is gone with its checkpoints is none of those that are checked. */
function refuseWithoutLog(
  one: KeptCheckpoint,
  found: readonly { readonly account_id: string }[],
  { fault }: VerifyWatcher,
): void {
  const account = accountOf(one);
  if (found.some(({ account_id }) => account_id === account)) return;
  fault({ account, what: `there is no log, but the checkpoint in ${one.file} is of ${one.size} events: it is lost` });
}

/** In each table by itself, so that PostgreSQL reads the events of one account alone. */
const IS_CHOSEN = '($1::text is null or account_id = $1)';

/** $1: the account, or null for all. A log without a head has size 0. */
const ACCOUNTS = `with chosen_heads as (select account_id, size from log_heads where ${IS_CHOSEN})
  select account_id, coalesce(h.size, 0) as size from chosen_heads h full join (
    select account_id from events where ${IS_CHOSEN} union select account_id from log_checkpoints where ${IS_CHOSEN}
  ) e using (account_id) order by 1`;

interface Context {
  /** For the events, which COPY sends while the checkpoints are read on another connection. */
  readonly ofEvents: Client;
  /** For the streams, which PostgreSQL checks while the events are checked here. */
  readonly ofStreams: Client;
  readonly logs: SealedLogs;
  readonly models: readonly AnyReadModel[];
}

interface Head {
  readonly account: string;
  readonly size: number;
}

async function verifyAccount(context: Context, head: Head, watcher: VerifyWatcher): Promise<number> {
  const report = new FaultReport((what) => watcher.fault({ account: head.account, what }));
  const [events, streams] = await Promise.all([
    verifyEvents(context, head, watcher, report),
    verifyStreams(context, head),
  ]);
  report.end();
  for (const what of streams) watcher.fault({ account: head.account, what });
  return events;
}

async function verifyEvents(
  { ofEvents, logs, models }: Context,
  { account, size }: Head,
  watcher: VerifyWatcher,
  report: FaultReport,
): Promise<number> {
  const sealed = new SealedChecks(logs, account, watcher.keysOf(account), (what) => report.of('seal', what));
  await sealed.begin();
  const kept = KeptChecks.of(keptOf(watcher, account), (what) => report.of('kept', what));
  const checks = new LogChecks({ size, sealed: [sealed, ...kept], report });
  const checker = checkerOf(size, knownTypes(models));
  let events = 0;
  try {
    const parts = partsOf(copyParts(ofEvents, eventsOf(account)));
    for await (const part of workAhead(parts, checker.ahead, (one) => checker.check(one))) {
      await checks.add(eventsOfPart(part));
      events += part.positions.length;
      watcher.events(part.positions.length);
    }
  } finally {
    await checker.end();
  }
  await checks.end();
  return events;
}

/** Resolves with the faults that are to be reported, of which there are few. */
async function verifyStreams({ ofStreams, models }: Context, { account }: Head): Promise<string[]> {
  const found: string[] = [];
  const report = new FaultReport((what) => found.push(what));
  for await (const { position, what } of streamFaults(ofStreams, models, account))
    report.add('stream', { position }, what);
  report.end();
  return found;
}

/** Else PostgreSQL may sort a long log in files on disk. */
const IN_POSITION_ORDER = 'set local enable_sort = off';

const eventsOf = (account: string): string =>
  `copy (select ${COPIED_COLUMNS} from events where account_id = ${sqlLiteral(account)} order by position) to stdout`;
