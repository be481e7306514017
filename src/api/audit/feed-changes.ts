import type { Connections } from '../../database/index.js';
import {
  type AnyReadModel,
  changesBetween,
  type Entity,
  type FieldChange,
  foldRecorded,
  LogReader,
  type RecordedEvent,
} from '../../event-log/index.js';

/** By the position of the event. */
export type FeedChanges = ReadonlyMap<number, readonly FieldChange[]>;

/**
 * What each event of a page changed, with the values before and after. It folds the streams of the page from their first
 * event, so a page has few. Throws Problem for an event that cannot be folded.
 */
export async function changesOf(
  connections: Connections,
  events: readonly RecordedEvent[],
  modelOf: (streamId: string) => AnyReadModel | undefined,
): Promise<FeedChanges> {
  const changes = new Map<number, readonly FieldChange[]>();
  const [first, last] = [events[0], events.at(-1)];
  if (first === undefined || last === undefined) return changes;
  const positions = new Set(events.map(({ position }) => position));
  const states = new Map<string, Entity<object> | undefined>();
  const ids = [...new Set(events.map(({ streamId }) => streamId))];
  for await (const event of new LogReader(connections).ofStreams(first.accountId, ids, last.position)) {
    const model = modelOf(event.streamId);
    if (model === undefined) continue;
    const before = states.get(event.streamId);
    const after = foldRecorded(model, before, event);
    states.set(event.streamId, after);
    if (positions.has(event.position)) changes.set(event.position, changesBetween(model, before, after));
  }
  return changes;
}
