import type { AnyReadModel } from '../read-model.js';
import type { LoggedEvent } from './logged-event.js';
import { streamFaultOf, typesWith } from './stream-checks.js';

interface StreamEnd {
  readonly version: number;
  readonly hasEnded: boolean;
}

/**
 * The checks of streams for a log in a file, which no database can sort: what stream-checks.ts has in SQL. It keeps the
 * last version of each stream, about 100 MB for a million of them.
 */
export class StreamOrder {
  private readonly ends = new Map<string, StreamEnd>();
  private readonly startTypes: ReadonlySet<string>;
  private readonly endTypes: ReadonlySet<string>;

  constructor(models: readonly AnyReadModel[]) {
    this.startTypes = new Set(typesWith(models, 'isStart'));
    this.endTypes = new Set(typesWith(models, 'isEnd'));
  }

  /** The fault of the next event in the order of positions. */
  faultOf({ stream_id, stream_version, type }: LoggedEvent): string | undefined {
    const before = this.ends.get(stream_id);
    this.ends.set(stream_id, { version: stream_version, hasEnded: this.endTypes.has(type) });
    const starts = this.startTypes.has(type);
    const facts = { type, follows: stream_version === (before?.version ?? 0) + 1, starts };
    const follows_end = before?.hasEnded === true;
    const isFaulty = !facts.follows || follows_end || starts !== (before === undefined);
    return isFaulty ? streamFaultOf({ ...facts, follows_end }) : undefined;
  }
}
