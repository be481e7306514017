import type { Client } from 'pg';
import { fetchRows, readAhead } from '../../database/cursor.js';
import { DedicatedConnections, type MaintenanceDatabase } from '../../database/dedicated-connections.js';
import type { AnyReadModel } from '../read-model.js';
import { SealedLogs } from '../seal/sealed-logs.js';
import type { VerifierKey } from '../tree/signed-note.js';
import { EventChecks } from './event-checks.js';
import { guardFaults } from './guard-checks.js';
import { type LoggedEvent, timeText } from './logged-event.js';
import { SealedChecks } from './sealed-checks.js';
import { streamFaults } from './stream-checks.js';

/** An inconsistency of a log, which arises only if another program than the service wrote to it. */
interface Fault {
  /** Undefined: of all accounts. */
  readonly account: string | undefined;
  /** The fault in words, with its position. */
  readonly what: string;
}

interface VerifyWatcher {
  /** Undefined: all accounts. */
  readonly account: string | undefined;
  /** The keys that may have signed an account's checkpoints; none: their signatures are not checked. */
  readonly keysOf: (account: string) => readonly VerifierKey[];
  readonly begin: (account: string, events: number) => void;
  readonly events: (count: number) => void;
  readonly fault: (fault: Fault) => void;
}

/**
 * Checks each log in one snapshot: positions 1, 2, 3 ... up to the head, every event (see event-checks.ts), every stream
 * (see stream-checks.ts) and the guard of the table. Resolves with the numbers of accounts and events.
 */
export async function verify(
  database: MaintenanceDatabase,
  models: readonly AnyReadModel[],
  watcher: VerifyWatcher,
): Promise<{ accounts: number; events: number }> {
  return DedicatedConnections.use(database, async (connections) => {
    const client = await connections.openSnapshot();
    const logs = new SealedLogs({ run: ({ text }, values) => client.query(text, [...values]) });
    for (const what of await guardFaults(client)) watcher.fault({ account: undefined, what });
    const { rows } = await client.query<{ account_id: string; size: string }>(ACCOUNTS, [watcher.account ?? null]);
    let events = 0;
    for (const { account_id: account, size } of rows) {
      watcher.begin(account, Number(size));
      events += await verifyAccount({ client, logs, models }, { account, size: Number(size) }, watcher);
    }
    return { accounts: rows.length, events };
  });
}

/** $1: the account, or null for all. A log without a head has size 0. */
const ACCOUNTS = `select coalesce(h.account_id, e.account_id) as account_id, coalesce(h.size, 0) as size
  from log_heads h full join (select account_id from events union select account_id from log_checkpoints) e using (account_id)
  where $1::text is null or coalesce(h.account_id, e.account_id) = $1 order by 1`;

interface Context {
  readonly client: Client;
  readonly logs: SealedLogs;
  readonly models: readonly AnyReadModel[];
}

async function verifyAccount(
  { client, logs, models }: Context,
  head: { readonly account: string; readonly size: number },
  watcher: VerifyWatcher,
): Promise<number> {
  const { account, size } = head;
  const report = new Report((what) => watcher.fault({ account, what }));
  const checks = new EventChecks(models);
  const sealed = new SealedChecks(logs, account, watcher.keysOf(account), (what) => report.of('seal', what));
  await sealed.begin();
  let [events, last] = [0, 0];
  for await (const rows of readAhead(fetchRows<{ event: string }>(client, EVENTS, [account]))) {
    for (const row of rows) {
      const event = parseEvent(row.event);
      report.missing(last, Math.min(event.position - 1, size));
      if (event.position > size || event.position < 1)
        report.add('head', event, `outside the log, whose head is at ${size}`);
      const { faults, hash } = checks.check(event);
      for (const { check, what } of faults) report.add(String(check), event, what);
      if (event.position > last) await sealed.add(event.position, hash);
      last = event.position;
    }
    events += rows.length;
    watcher.events(rows.length);
  }
  report.missing(last, size);
  await sealed.end(size);
  for await (const { position, what } of streamFaults(client, models, account))
    report.add('stream', { position }, what);
  report.end();
  return events;
}

/** No event has this character: JSON does not contain it, and it separates the fields. */
const SEPARATOR = '\u0001';

/** One text, since to make a row object of the fields takes longer than to split it. */
const EVENTS = `select concat_ws('${SEPARATOR}', account_id, position, stream_id, stream_version, event_id, type,
    ${timeText('occurred_at')}, ${timeText('recorded_at')}, encode(leaf_hash, 'hex'), metadata, data) as event
  from events where account_id = $1 order by position`;

function parseEvent(text: string): LoggedEvent {
  const fields = text.split(SEPARATOR);
  const [account_id = '', position, stream_id = '', version, event_id = '', type = ''] = fields;
  const [occurred_at = '', recorded_at = '', leaf_hash = '', metadata = '', data = ''] = fields.slice(6);
  const numbers = { position: Number(position), stream_version: Number(version) };
  return { account_id, stream_id, event_id, type, data, metadata, occurred_at, recorded_at, leaf_hash, ...numbers };
}

/** Limit for one kind of fault; a lost table would report every position. */
const MAX_REPORTED = 10;

/** Reports faults up to the limit of their kind, and the number of the others at the end. */
class Report {
  private readonly counts = new Map<string, { count: number; last: string }>();

  constructor(private readonly report: (what: string) => void) {}

  add(kind: string, { position }: { readonly position: number | string }, what: string): void {
    this.of(kind, `position ${position}: ${what}`);
  }

  /** The positions after one up to another. */
  missing(after: number, upTo: number): void {
    if (upTo > after + 1) this.of('missing', `positions ${after + 1} to ${upTo}: missing`);
    else if (upTo > after) this.of('missing', `position ${upTo}: missing`);
  }

  end(): void {
    for (const { count, last } of this.counts.values()) {
      if (count > MAX_REPORTED) this.report(`and ${count - MAX_REPORTED} more like ${last}`);
    }
  }

  /** A whole sentence. */
  of(kind: string, sentence: string): void {
    const count = (this.counts.get(kind)?.count ?? 0) + 1;
    this.counts.set(kind, { count, last: sentence });
    if (count <= MAX_REPORTED) this.report(sentence);
  }
}
