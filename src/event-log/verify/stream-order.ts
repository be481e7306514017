import type { AnyReadModel } from '../read-model.js';
import type { LoggedEvent } from './logged-event.js';
import { streamFaultOf, typesWith } from './stream-checks.js';

/** The fields of an event that the checks read. */
export interface StreamEvent {
  readonly version: number;
  readonly position: number;
  readonly type: string;
}

/** What the feed tells of an event that an export hides. */
export type StreamedEvent = Pick<LoggedEvent, 'position' | 'stream_id' | 'stream_version' | 'type'>;

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
  /** How many streams may have begun with an event that is hidden. */
  private hiddenBeginnings = 0;

  constructor(models: readonly AnyReadModel[]) {
    this.rules = new StreamRules(models);
  }

  /** The next event is hidden, and nothing says what it is. It may be the first of a stream, and no later one. */
  hide(): void {
    this.hiddenBeginnings += 1;
  }

  /** The fault of the next event, in the order of positions. */
  faultOf({ stream_id, stream_version, position, type }: StreamedEvent): string | undefined {
    const event = { version: stream_version, position, type };
    const fault = this.rules.faultOf(event, this.ends.get(stream_id) ?? this.hiddenBeginning(event));
    this.ends.set(stream_id, this.rules.endWith(event));
    return fault;
  }

  private hiddenBeginning({ version }: StreamEvent): StreamEnd | undefined {
    if (version !== 2 || this.hiddenBeginnings === 0) return undefined;
    this.hiddenBeginnings -= 1;
    return { version: 1, position: 0, hasEnded: false };
  }
}
