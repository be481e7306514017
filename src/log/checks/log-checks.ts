import type { AnyReadModel } from '../read-model.js';
import { EventChecks } from './event-checks.js';
import type { FaultReport } from './fault-report.js';
import type { LoggedEvent } from './logged-event.js';

/** Compares the events with checkpoints. */
interface CheckpointChecks {
  /** Adds the hash of the event at a position, in hex. The promise, if there is one, must be awaited before the next. */
  add(position: number, hash: string): Promise<void> | undefined;
  /** `size`: the number of events that the log should have. */
  end(size: number): Promise<void> | void;
}

interface CheckedLog {
  readonly models: readonly AnyReadModel[];
  /** The number of events that the log should have. */
  readonly size: number;
  readonly sealed: readonly CheckpointChecks[];
  readonly report: FaultReport;
}

/**
 * Checks the events of one log, in the order of their positions: positions 1, 2, 3 ... up to its size, every event (see
 * event-checks.ts), and its checkpoints. The events may come from a database or from a file.
 */
export class LogChecks {
  private readonly checks: EventChecks;
  private last = 0;

  constructor(private readonly log: CheckedLog) {
    this.checks = new EventChecks(log.models);
  }

  async add(events: readonly LoggedEvent[]): Promise<void> {
    for (const event of events) {
      const hash = this.check(event);
      for (const sealed of event.position > this.last ? this.log.sealed : []) {
        const due = sealed.add(event.position, hash);
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

  /** Returns the hash that the event should have. */
  private check(event: LoggedEvent): string {
    const { size, report } = this.log;
    report.missing(this.last, Math.min(event.position - 1, size));
    if (event.position > size || event.position < 1)
      report.add('head', event, `outside the log, whose head is at ${size}`);
    const { faults, hash } = this.checks.check(event);
    for (const { check, what } of faults) report.add(String(check), event, what);
    return hash;
  }
}
