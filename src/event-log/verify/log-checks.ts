import { EventChecks, type KnownTypes } from './event-checks.js';
import type { FaultReport } from './fault-report.js';
import type { HiddenEvent, LoggedEvent } from './logged-event.js';

/** Compares the events with checkpoints. */
interface CheckpointChecks {
  /** Adds the hash of the event at a position. The caller must await a promise before the next call. */
  add(position: number, hash: Buffer): Promise<void> | undefined;
  /** `size` is the number of events that the log should have. */
  end(size: number): Promise<void> | void;
}

interface CheckedLog {
  /** The number of events that the log should have. */
  readonly size: number;
  readonly sealed: readonly CheckpointChecks[];
  readonly report: FaultReport;
}

/**
 * Checks one log, from a database or a file: every event, the positions from 1 to the size, and the checkpoints. The
 * events must come in the order of their positions.
 */
export class LogChecks {
  private last = 0;
  private readonly events: EventChecks;

  constructor(
    types: KnownTypes,
    private readonly log: CheckedLog,
  ) {
    this.events = new EventChecks(types);
  }

  async add(event: LoggedEvent | HiddenEvent): Promise<void> {
    const hash = this.check(event);
    // The checkpoints get each position once.
    if (event.position <= this.last) return;
    for (const sealed of this.log.sealed) await sealed.add(event.position, hash);
    this.last = event.position;
  }

  async end(size = this.log.size): Promise<void> {
    this.log.report.missing(this.last, size);
    for (const sealed of this.log.sealed) await sealed.end(size);
  }

  /** Returns the hash that the event should have. */
  private check(event: LoggedEvent | HiddenEvent): Buffer {
    const { size, report } = this.log;
    report.missing(this.last, Math.min(event.position - 1, size));
    if (event.position > size || event.position < 1)
      report.add('head', event, `outside the log, whose head is at ${size}`);
    const { faults, hash } = this.events.check(event);
    for (const { check, what } of faults) report.add(String(check), event, what);
    return Buffer.from(hash, 'hex');
  }
}
