import type { AnyReadModel } from '../read-model.js';
import type { LoggedEvent } from './logged-event.js';
import { streamFaultOf, typesWith } from './stream-checks.js';

/** The fields of an event that the checks read. */
export interface StreamEvent {
  readonly version: number;
  readonly position: number;
  readonly type: string;
}

/** What the checks remember of the last event of a stream. */
export interface StreamEnd {
  readonly version: number;
  readonly position: number;
  readonly hasEnded: boolean;
}

/** The checks of streams, event by event. stream-checks.ts has the same checks in SQL. */
export class StreamRules {
  private readonly startTypes: ReadonlySet<string>;
  private readonly endTypes: ReadonlySet<string>;

  constructor(models: readonly AnyReadModel[]) {
    this.startTypes = new Set(typesWith(models, 'isStart'));
    this.endTypes = new Set(typesWith(models, 'isEnd'));
  }

  /** `before` is the end of the stream before this event. Undefined if the event should be the first. */
  faultOf({ version, position, type }: StreamEvent, before: StreamEnd | undefined): string | undefined {
    const follows = version === (before?.version ?? 0) + 1 && position > (before?.position ?? 0);
    const starts = this.startTypes.has(type);
    const follows_end = before?.hasEnded === true;
    const isFaulty = !follows || follows_end || starts !== (before === undefined);
    return isFaulty ? streamFaultOf({ type, follows, starts, follows_end }) : undefined;
  }

  endWith({ version, position, type }: StreamEvent): StreamEnd {
    return { version, position, hasEnded: this.endTypes.has(type) };
  }
}

/**
 * Checks the streams of a log in a file, which has no database to sort it. It keeps the end of each stream in memory,
 * about 100 MB for a million streams.
 */
export class StreamOrder {
  private readonly ends = new Map<string, StreamEnd>();
  private readonly rules: StreamRules;

  constructor(models: readonly AnyReadModel[]) {
    this.rules = new StreamRules(models);
  }

  /** The fault of the next event, in the order of positions. */
  faultOf({ stream_id, stream_version, position, type }: LoggedEvent): string | undefined {
    const event = { version: stream_version, position, type };
    const fault = this.rules.faultOf(event, this.ends.get(stream_id));
    this.ends.set(stream_id, this.rules.endWith(event));
    return fault;
  }
}
