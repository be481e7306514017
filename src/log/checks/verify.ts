import type { Client } from 'pg';
import { fetchRows, readAhead } from '../../database/cursor.js';
import {
  DedicatedConnections,
  exportSnapshot,
  type MaintenanceDatabase,
} from '../../database/dedicated-connections.js';
import type { AnyReadModel } from '../read-model.js';
import { SealedLogs } from '../seal/sealed-logs.js';
import type { VerifierKey } from '../tree/signed-note.js';
import { FaultReport } from './fault-report.js';
import { guardFaults } from './guard-checks.js';
import { accountOf, type KeptCheckpoint, KeptChecks } from './kept-checks.js';
import { LogChecks } from './log-checks.js';
import { type LoggedEvent, timeText } from './logged-event.js';
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
  const ofStreams = await connections.openSnapshot(snapshot ?? (await exportSnapshot(client)));
  await client.query(IN_POSITION_ORDER);
  const logs = new SealedLogs({ run: ({ text }, values) => client.query(text, [...values]) });
  for (const what of await guardFaults(client)) watcher.fault({ account: undefined, what });
  const { rows } = await client.query<{ account_id: string; size: string }>(ACCOUNTS, [watcher.account ?? null]);
  let events = 0;
  for (const { account_id: account, size } of rows) {
    watcher.begin(account, Number(size));
    events += await verifyAccount({ client, ofStreams, logs, models }, { account, size: Number(size) }, watcher);
  }
  for (const one of watcher.kept ?? []) refuseWithoutLog(one, rows, watcher);
  await Promise.all([client.end(), ofStreams.end()]);
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

/** $1: the account, or null for all. A log without a head has size 0. */
const ACCOUNTS = `select coalesce(h.account_id, e.account_id) as account_id, coalesce(h.size, 0) as size
  from log_heads h full join (select account_id from events union select account_id from log_checkpoints) e using (account_id)
  where $1::text is null or coalesce(h.account_id, e.account_id) = $1 order by 1`;

interface Context {
  readonly client: Client;
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
  { client, logs, models }: Context,
  { account, size }: Head,
  watcher: VerifyWatcher,
  report: FaultReport,
): Promise<number> {
  const sealed = new SealedChecks(logs, account, watcher.keysOf(account), (what) => report.of('seal', what));
  await sealed.begin();
  const kept = KeptChecks.of(keptOf(watcher, account), (what) => report.of('kept', what));
  const checks = new LogChecks({ models, size, sealed: [sealed, ...kept], report });
  let events = 0;
  for await (const rows of readAhead(fetchRows<{ event: string }>(client, EVENTS, [account]))) {
    await checks.add(rows.map(({ event }) => parseEvent(event)));
    events += rows.length;
    watcher.events(rows.length);
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

/** No event has this character: JSON does not contain it, and it separates the fields. */
const SEPARATOR = '\u0001';

/** Else PostgreSQL may sort a long log in files on disk. */
const IN_POSITION_ORDER = 'set local enable_sort = off';

/** One text, since to make a row object of the fields takes longer than to split it. */
const EVENTS = `select concat_ws('${SEPARATOR}', account_id, position, stream_id, stream_version, event_id, type,
    ${timeText('occurred_at')}, ${timeText('recorded_at')}, encode(leaf_hash, 'hex'), metadata, data) as event
  from events where account_id = $1 order by position`;

/** Without destructuring, which takes as long as a check. */
function parseEvent(text: string): LoggedEvent {
  const fields = text.split(SEPARATOR);
  return {
    account_id: fields[0] ?? '',
    position: Number(fields[1]),
    stream_id: fields[2] ?? '',
    stream_version: Number(fields[3]),
    event_id: fields[4] ?? '',
    type: fields[5] ?? '',
    occurred_at: fields[6] ?? '',
    recorded_at: fields[7] ?? '',
    leaf_hash: fields[8] ?? '',
    metadata: fields[9] ?? '',
    data: fields[10] ?? '',
  };
}
