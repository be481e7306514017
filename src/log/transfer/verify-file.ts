import { knownTypes } from '../checks/event-checks.js';
import { FaultReport } from '../checks/fault-report.js';
import { accountOf, type KeptCheckpoint, KeptChecks } from '../checks/kept-checks.js';
import { LogChecks } from '../checks/log-checks.js';
import type { LoggedEvent } from '../checks/logged-event.js';
import { StreamOrder } from '../checks/stream-order.js';
import type { AnyReadModel } from '../read-model.js';
import { LogFileError, parseLine } from './log-file.js';

interface FileWatcher {
  readonly kept: readonly KeptCheckpoint[];
  readonly events: (count: number) => void;
  readonly fault: (fault: { readonly account: string; readonly what: string }) => void;
}

/** Faults of a file that has no event. */
const NO_ACCOUNT = 'the file';

/**
 * Checks an exported log as `verify` checks that of a database, but for what a file does not hold: the guard of the
 * table and the stored checkpoints. Resolves with the number of events.
 */
export async function verifyFile(
  lists: AsyncIterable<readonly string[]>,
  models: readonly AnyReadModel[],
  watcher: FileWatcher,
): Promise<number> {
  const log = new LogFile(models, watcher);
  try {
    for await (const lines of lists) {
      for (const line of lines) await log.add(line);
      watcher.events(lines.length);
    }
    await log.end();
  } catch (error) {
    if (!(error instanceof LogFileError)) throw error;
    log.refuse(`${error.message}; from there on nothing was checked`);
  }
  log.finish();
  return log.lines;
}

class LogFile {
  lines = 0;
  private account = NO_ACCOUNT;
  private last = 0;
  private readonly report: FaultReport;
  private readonly streams: StreamOrder;
  private readonly log: LogChecks;

  constructor(
    models: readonly AnyReadModel[],
    private readonly watcher: FileWatcher,
  ) {
    const { kept, fault } = watcher;
    this.report = new FaultReport((what) => fault({ account: this.account, what }));
    this.streams = new StreamOrder(models);
    const sealed = KeptChecks.of(kept, (what) => this.report.of('kept', what));
    // A file does not say how long its log is: whole lines are all that it has.
    const size = Number.POSITIVE_INFINITY;
    this.log = new LogChecks(knownTypes(models), { size, sealed, report: this.report });
  }

  async add(line: string): Promise<void> {
    this.lines += 1;
    const event = parseLineOf(line, this.lines);
    if (this.lines === 1) this.begin(event);
    if (event.account_id !== this.account) {
      this.refuse(
        `line ${this.lines}: its account is ${event.account_id}, but that of the first line is ${this.account}`,
      );
    }
    if (this.lines > 1 && event.position <= this.last) {
      this.refuse(`line ${this.lines}: its position is ${event.position}, after one of ${this.last}`);
    }
    await this.log.add(event);
    this.last = Math.max(this.last, event.position);
    const fault = this.streams.faultOf(event);
    if (fault !== undefined) this.report.add('stream', event, fault);
  }

  /** A fault of the file itself. */
  refuse(what: string): void {
    this.report.of('file', what);
  }

  async end(): Promise<void> {
    if (this.lines === 0) this.refuse('the file is empty');
    await this.log.end(this.last);
  }

  finish(): void {
    this.report.end();
  }

  private begin({ account_id, position }: LoggedEvent): void {
    this.account = account_id;
    if (position > 1) {
      this.refuse(
        `line 1: the file begins at position ${position}; export the log from its beginning, without --after`,
      );
    }
    for (const one of this.watcher.kept) {
      const account = accountOf(one);
      if (account !== account_id)
        this.refuse(`the checkpoint in ${one.file} is that of another log, of account ${account}`);
    }
  }
}

function parseLineOf(line: string, number: number): LoggedEvent {
  try {
    return parseLine(line);
  } catch (error) {
    throw error instanceof LogFileError ? new LogFileError(`line ${number}: ${error.message}`) : error;
  }
}
