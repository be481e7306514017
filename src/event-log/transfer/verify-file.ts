import type { AnyReadModel } from '../read-model.js';
import { parseSignedCheckpoint } from '../transparency/tree/checkpoint.js';
import type { VerifierKey } from '../transparency/tree/signed-note.js';
import { knownTypes } from '../verify/event-checks.js';
import { FaultReport } from '../verify/fault-report.js';
import { accountOf, type KeptCheckpoint, KeptChecks } from '../verify/kept-checks.js';
import { LogChecks } from '../verify/log-checks.js';
import { type HiddenEvent, isHidden, type LoggedEvent } from '../verify/logged-event.js';
import { orderFaultOf, type SignatureReport, Signatures } from '../verify/signatures.js';
import { type StreamedEvent, StreamOrder } from '../verify/stream-order.js';
import { atLine, faultyLine, LogFileError, parseExported, type RecordLine } from './log-file.js';
import { type LogSection, sectionsOf } from './log-sections.js';

interface FileWatcher {
  readonly kept: readonly KeptCheckpoint[];
  /**
   * The keys of an account. One of them must have signed each checkpoint of the file. None: signatures are not checked.
   */
  readonly keysOf: (account: string) => readonly VerifierKey[];
  readonly events: (count: number) => void;
  readonly fault: (fault: { readonly account: string; readonly what: string }) => void;
  readonly unchecked?: SignatureReport['unchecked'];
  /**
   * The event that may be hidden at this position, as the feed tells it. Undefined if there is none. Absent: nothing
   * tells what is hidden.
   */
  readonly hiddenAt?: (position: number) => Promise<StreamedEvent | undefined>;
}

interface VerifiedFile {
  readonly events: number;
  /** Whether each log was compared with a checkpoint whose signature was checked. */
  readonly isHeld: boolean;
  /** The positions of the events that have their hash alone. */
  readonly hidden: readonly number[];
}

/** Stands for the account in faults of a file without events, and of records of no account. */
const NO_ACCOUNT = 'the file';

/**
 * Checks exported logs as `verify` checks the logs of a database, except for the guard of the table and the stored
 * tiles, which a file does not contain. A file of one log does not contain checkpoints either.
 */
export async function verifyFile(
  lists: AsyncIterable<readonly string[]>,
  models: readonly AnyReadModel[],
  watcher: FileWatcher,
): Promise<VerifiedFile> {
  let [log, events, isHeld] = [undefined as LogFile | undefined, 0, true];
  const hidden: number[] = [];
  const unused = new Set(watcher.kept);
  try {
    for await (const section of sectionsOf(lists)) {
      log = new LogFile(models, section, watcher, hidden);
      await log.check();
      events += log.size;
      isHeld &&= log.isHeld || log.size === 0;
      for (const one of log.kept) unused.delete(one);
    }
  } catch (error) {
    if (!(error instanceof LogFileError)) throw error;
    const rest = log === undefined ? '' : '; from there on nothing was checked';
    watcher.fault({ account: log?.account ?? NO_ACCOUNT, what: `${error.message}${rest}` });
    return { events, isHeld, hidden };
  }
  for (const one of unused) {
    const what = `the checkpoint in ${one.file} belongs to another log, that of account ${accountOf(one)}`;
    watcher.fault({ account: log?.account ?? NO_ACCOUNT, what });
  }
  return { events, isHeld, hidden };
}

class LogFile {
  account: string;
  /** The checkpoints that the log is compared with, in the order of their sizes. */
  kept: readonly KeptCheckpoint[] = [];
  /** The number of its events that were read. */
  size = 0;
  private last = 0;
  private readonly report: FaultReport;
  private readonly streams: StreamOrder;
  private log: LogChecks | undefined;
  /** The size of the last checkpoint of the file. */
  private signed = 0;
  private readonly signatures: Signatures;
  private readonly hasKeys: boolean;
  /** Whether the log is compared with a checkpoint from outside of the file. */
  private hasKeptCheckpoint = false;

  constructor(
    private readonly models: readonly AnyReadModel[],
    private readonly section: LogSection,
    private readonly watcher: FileWatcher,
    private readonly hidden: number[],
  ) {
    this.account = section.header?.account_id || NO_ACCOUNT;
    this.report = new FaultReport((what) => watcher.fault({ account: this.account, what }));
    this.streams = new StreamOrder(models);
    const keys = watcher.keysOf(this.account);
    const fault = (what: string): void => this.report.addSentence('kept', what);
    this.signatures = new Signatures(keys, { fault, unchecked: watcher.unchecked });
    this.hasKeys = keys.length > 0;
  }

  get isHeld(): boolean {
    return this.hasKeptCheckpoint || (this.hasKeys && this.kept.length > 0);
  }

  /** Checks the log. Throws LogFileError for a line that cannot belong to a log. */
  async check(): Promise<void> {
    try {
      const signed: KeptCheckpoint[] = [];
      for await (const records of this.section.records()) {
        for (const record of records) signed.push(...this.checkpointIn(record));
      }
      this.signatures.end();
      for await (const lines of this.section.events()) {
        for (const line of lines) await this.add(line, signed);
        this.watcher.events(lines.length);
      }
      await this.log?.end(this.last);
    } finally {
      this.report.end();
    }
  }

  /** The checkpoint in a record, if it is one. Reports faults of its signature and its place, as `verify` does. */
  private checkpointIn({ table, row }: RecordLine): readonly KeptCheckpoint[] {
    if (table !== 'log_checkpoints') return [];
    const stored = { size: Number(row.size), follows: Number(row.follows), note: String(row.note) };
    const order = orderFaultOf(stored, this.signed);
    if (order !== undefined) this.report.addSentence('kept', order);
    this.signed = stored.size;
    this.signatures.isSigned(stored);
    const note = parseSignedCheckpoint(stored.note);
    return note === undefined ? [] : [{ ...note.checkpoint, file: 'the file', isSigned: true }];
  }

  private async add(line: string, signed: readonly KeptCheckpoint[]): Promise<void> {
    const number = this.section.before + this.size + 1;
    const event = atLine(number, () => parseExported(line));
    this.size += 1;
    this.log ??= this.begin(event, signed);
    if (!isHidden(event) && event.account_id !== this.account) {
      this.reportFault(
        `line ${number}: its account is ${event.account_id}, but that of the first line is ${this.account}`,
      );
    }
    if (this.size > 1 && event.position <= this.last) {
      this.reportFault(
        `line ${number}: its position is ${event.position}, but an earlier line has position ${this.last}`,
      );
    }
    await this.log.add(event);
    this.last = Math.max(this.last, event.position);
    const fault = isHidden(event) ? await this.hide(event) : this.streams.faultOf(event);
    if (fault !== undefined) this.report.add('stream', event, fault);
  }

  private async hide({ position }: HiddenEvent): Promise<string | undefined> {
    this.hidden.push(position);
    if (this.watcher.hiddenAt === undefined) return void this.streams.hide();
    const event = await this.watcher.hiddenAt(position);
    return event === undefined ? 'it is hidden, and is no event of a type that may be' : this.streams.faultOf(event);
  }

  /** Reports a fault of the file itself. */
  private reportFault(what: string): void {
    this.report.addSentence('file', what);
  }

  private begin(first: LoggedEvent | HiddenEvent, signed: readonly KeptCheckpoint[]): LogChecks {
    const line = this.section.before + 1;
    if (isHidden(first)) throw faultyLine(line, 'the first event is hidden, and no log begins with such an event');
    if (this.section.header === undefined) this.account = first.account_id;
    if (first.position > 1) {
      this.reportFault(
        `line ${line}: the log begins at position ${first.position}; export it from its beginning, without --after`,
      );
    }
    const own = this.watcher.kept.filter((one) => accountOf(one) === this.account);
    this.hasKeptCheckpoint = own.length > 0;
    this.kept = [...own, ...signed].toSorted((a, b) => a.size - b.size);
    const sealed = KeptChecks.of(this.kept, (what) => this.report.addSentence('kept', what));
    // A file of one log does not say how many events it should have.
    const size = this.section.header?.events ?? Number.POSITIVE_INFINITY;
    return new LogChecks(knownTypes(this.models), { size, sealed, report: this.report });
  }
}
