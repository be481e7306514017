import type { EventFault } from './event-checks.js';
import type { FaultReport } from './fault-report.js';

/** Compares the events with checkpoints. */
interface CheckpointChecks {
  /** Adds the hash of the event at a position. The promise, if there is one, must be awaited before the next. */
  add(position: number, hash: Buffer): Promise<void> | undefined;
  /** `size`: the number of events that the log should have. */
  end(size: number): Promise<void> | void;
}

interface CheckedLog {
  /** The number of events that the log should have. */
  readonly size: number;
  readonly sealed: readonly CheckpointChecks[];
  readonly report: FaultReport;
}

/** An event with what EventChecks says of it. */
export interface CheckedEvent {
  readonly position: number;
  /** That it should have. */
  readonly hash: Buffer;
  readonly faults: readonly EventFault[];
}

/**
 * Checks one log, whose checked events come in the order of their positions: positions 1, 2, 3 ... up to its size, and its
 * checkpoints. The events may come from a database or from a file.
 */
export class LogChecks {
  private last = 0;

  constructor(private readonly log: CheckedLog) {}

  async add(events: Iterable<CheckedEvent>): Promise<void> {
    for (const event of events) {
      this.report(event);
      for (const sealed of event.position > this.last ? this.log.sealed : []) {
        const due = sealed.add(event.position, event.hash);
        // No await for each event: it would take as long as a check.
        if (due !== undefined) await due;
      }
      this.last = event.position;
    }
  }

  async end(size = this.log.size): Promise<void> {
    this.log.report.missing(this.last, size);
    for (const sealed of this.log.sealed) await sealed.end(size);
  }

  private report(event: CheckedEvent): void {
    const { size, report } = this.log;
    report.missing(this.last, Math.min(event.position - 1, size));
    if (event.position > size || event.position < 1)
      report.add('head', event, `outside the log, whose head is at ${size}`);
    for (const { check, what } of event.faults) report.add(String(check), event, what);
  }
}
