import type { AnyReadModel } from '../read-model.js';
import { formatFault, type HiddenEvent, isHidden, type LoggedEvent, leafHash } from './logged-event.js';

/** The types of events that this version knows, for each prefix of a stream. */
export type KnownTypes = ReadonlyMap<string, ReadonlySet<string>>;

export const knownTypes = (models: readonly AnyReadModel[]): KnownTypes =>
  new Map(
    models.flatMap(({ streamPrefixes, events }) =>
      streamPrefixes.map((prefix) => [prefix, new Set(Object.keys(events))] as const),
    ),
  );

/** What a check has found in an event. `check` is its index in the list of checks. */
export interface EventFault {
  readonly check: number;
  readonly what: string;
}

const NOT_LATER = 'recorded_at is not later than that of the previous event';

/** The checks of single events. Others check positions and streams. */
export class EventChecks {
  private recordedAt = '';

  constructor(private readonly types: KnownTypes) {}

  /** The faults of the event, and the hash that it should have. */
  check(event: LoggedEvent | HiddenEvent): { readonly faults: readonly EventFault[]; readonly hash: string } {
    // Only a checkpoint covers what is hidden.
    if (isHidden(event)) return { faults: [], hash: event.leaf_hash };
    const hash = leafHash(event);
    const found = [this.timeFault(event), this.typeFault(event), formatFault(event), hashFault(event, hash)];
    this.recordedAt = event.recorded_at;
    return { faults: found.flatMap((what, check) => (what === undefined ? [] : [{ check, what }])), hash };
  }

  private timeFault({ recorded_at }: LoggedEvent): string | undefined {
    return recorded_at > this.recordedAt ? undefined : NOT_LATER;
  }

  private typeFault({ stream_id, type }: LoggedEvent): string | undefined {
    const prefix = stream_id.slice(0, stream_id.lastIndexOf('_'));
    if (this.types.get(prefix)?.has(type) === true) return undefined;
    return `this version of the service does not know events of type ${type} in stream ${stream_id}`;
  }
}

function hashFault({ leaf_hash }: LoggedEvent, hash: string): string | undefined {
  if (leaf_hash === hash) return undefined;
  return HASH.test(leaf_hash) ? 'its leaf_hash is not the hash of the event' : 'leaf_hash is not a SHA-256 in hex';
}
const HASH = /^[0-9a-f]{64}$/;
