import type { Client } from 'pg';
import { compareSchema, DedicatedConnections, fetchRows, type MaintenanceDatabase } from '../../database/index.js';
import { CheckFailed } from '../../kernel/operator-error.js';
import type { AnyReadModel } from '../read-model.js';
import { SealedLogs } from '../transparency/seal/sealed-logs.js';
import type { VerifierKey } from '../transparency/tree/signed-note.js';
import { knownTypes } from './event-checks.js';
import { FaultReport } from './fault-report.js';
import { accountOf, type KeptCheckpoint, KeptChecks } from './kept-checks.js';
import { LogChecks } from './log-checks.js';
import { type LoggedEvent, timeText } from './logged-event.js';
import { RecordChecks, type RecordNotes, sentencesOf } from './record-checks.js';
import { SealedChecks } from './sealed-checks.js';
import type { SignatureReport } from './signatures.js';
import { streamFaults } from './stream-checks.js';

/** A fault of a log. It can arise only if a program other than the service wrote to the log. */
export interface Fault {
  /** Undefined: the fault concerns all accounts. */
  readonly account: string | undefined;
  /** The fault in words, with its position. */
  readonly what: string;
}

/** Selects what a check covers, and gets its progress and each fault. */
export interface VerifyWatcher {
  /** Undefined: all accounts. */
  readonly account: string | undefined;
  /** The keys that may have signed an account's checkpoints, oldest first. None: signatures are not checked. */
  readonly keysOf: (account: string) => readonly VerifierKey[];
  /** Checkpoints that were kept outside of the database, in the order of their sizes. */
  readonly kept?: readonly KeptCheckpoint[];
  /** Compares the records with what was sealed. After an import of one account there are none. */
  readonly hasRecords?: boolean;
  readonly begin: (account: string, events: number) => void;
  readonly events: (count: number) => void;
  readonly fault: (fault: Fault) => void;
  /** Gets what is not a fault, as a sentence for the operator. */
  readonly warn?: (sentence: string) => void;
  /** Gets how many checkpoints of a log a key has signed that is not known. Later ones of a known key cover them. */
  readonly unchecked?: SignatureReport['unchecked'];
}

interface Verified {
  readonly accounts: number;
  readonly events: number;
}

/** Checks logs in one snapshot, and reports each fault to the watcher. */
export const verify = (
  database: MaintenanceDatabase,
  models: readonly AnyReadModel[],
  watcher: VerifyWatcher,
): Promise<Verified> => DedicatedConnections.use(database, (connections) => checkLogs(connections, models, watcher));

/**
 * Checks each log in one snapshot, the given one or a new one: positions and events (see log-checks.ts), every stream
 * (see stream-checks.ts) and the schema.
 */
export async function checkLogs(
  connections: DedicatedConnections,
  models: readonly AnyReadModel[],
  watcher: VerifyWatcher,
  snapshot?: string,
): Promise<Verified> {
  const client = await connections.openSnapshot(snapshot);
  await client.query(IN_POSITION_ORDER);
  const logs = new SealedLogs({ run: ({ text }, values) => client.query(text, [...values]) });
  await checkSchema(client, watcher);
  const { rows } = await client.query<{ account_id: string; size: string }>(ACCOUNTS, [watcher.account ?? null]);
  let events = 0;
  const notes: RecordNotes = { unsealedFrom: undefined, goneUntil: undefined };
  for (const { account_id: account, size } of rows) {
    watcher.begin(account, Number(size));
    events += await verifyAccount({ client, logs, models, notes }, { account, size: Number(size) }, watcher);
  }
  for (const sentence of sentencesOf(notes)) watcher.warn?.(sentence);
  for (const one of watcher.kept ?? []) reportMissingLog(one, rows, watcher);
  await connections.release(client);
  return { accounts: rows.length, events };
}

async function checkSchema(client: Client, { fault, warn }: VerifyWatcher): Promise<void> {
  const { faults, addition, isReadable } = await compareSchema(client);
  for (const what of faults) fault({ account: undefined, what });
  if (addition !== undefined) warn?.(addition);
  if (isReadable) return;
  warn?.('nothing else was checked: it needs all tables and columns, and those of the log with their types');
  throw new CheckFailed();
}

const keptOf = ({ kept = [] }: VerifyWatcher, account: string): KeptCheckpoint[] =>
  kept.filter((one) => accountOf(one) === account);

/** Reports a kept checkpoint of a log that is gone. If its checkpoints are gone too, no other check finds this. */
function reportMissingLog(
  one: KeptCheckpoint,
  found: readonly { readonly account_id: string }[],
  { fault }: VerifyWatcher,
): void {
  const account = accountOf(one);
  if (found.some(({ account_id }) => account_id === account)) return;
  fault({
    account,
    what: `there is no log, but the checkpoint in ${one.file} is of ${one.size} events: the log is lost`,
  });
}

/** The condition stands in each table's own query, so that PostgreSQL reads the events of one account only. */
const IS_CHOSEN = '($1::text is null or account_id = $1)';

/** $1 is the account, or null for all accounts. A log without a head has size 0. */
const ACCOUNTS = `with chosen_heads as (select account_id, size from log_heads where ${IS_CHOSEN})
  select account_id, coalesce(h.size, 0) as size from chosen_heads h full join (
    select account_id from events where ${IS_CHOSEN} union select account_id from log_checkpoints where ${IS_CHOSEN}
    union select account_id from log_tiles where ${IS_CHOSEN}
  ) e using (account_id) order by 1`;

interface Context {
  readonly client: Client;
  readonly logs: SealedLogs;
  readonly models: readonly AnyReadModel[];
  readonly notes: RecordNotes;
}

interface Head {
  readonly account: string;
  readonly size: number;
}

async function verifyAccount(context: Context, head: Head, watcher: VerifyWatcher): Promise<number> {
  const report = new FaultReport((what) => watcher.fault({ account: head.account, what }));
  const records = new RecordChecks((what) => report.addSentence('records', what), context.notes);
  const events = await verifyEvents(context, head, watcher, report, records);
  if (watcher.hasRecords === true) await records.end(context.client, head.account);
  for await (const { position, what } of streamFaults(context.client, context.models, head.account))
    report.add('stream', { position }, what);
  report.end();
  return events;
}

async function verifyEvents(
  { client, logs, models }: Context,
  { account, size }: Head,
  watcher: VerifyWatcher,
  report: FaultReport,
  records: RecordChecks,
): Promise<number> {
  const sealed = new SealedChecks(logs, account, watcher.keysOf(account), {
    fault: (what) => report.addSentence('seal', what),
    unchecked: watcher.unchecked,
  });
  await sealed.begin();
  const kept = KeptChecks.of(keptOf(watcher, account), (what) => report.addSentence('kept', what));
  const checks = new LogChecks(knownTypes(models), { size, sealed: [sealed, ...kept], report });
  let events = 0;
  for await (const rows of fetchRows<LoggedEvent & object>(client, EVENTS, [account])) {
    for (const event of rows) {
      await checks.add(event);
      records.add(event);
    }
    events += rows.length;
    watcher.events(rows.length);
  }
  await checks.end();
  return events;
}

/** Otherwise PostgreSQL may sort a long log in files on disk. */
const IN_POSITION_ORDER = 'set local enable_sort = off';

const EVENTS = `select account_id, position::float8 as position, stream_id, stream_version, event_id, type, data, metadata,
    ${timeText('occurred_at')} as occurred_at, ${timeText('recorded_at')} as recorded_at, encode(leaf_hash, 'hex') as leaf_hash
  from events where account_id = $1 order by events.position`;
