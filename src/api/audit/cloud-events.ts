import {
  type AnyReadModel,
  correlationOf,
  type FieldChange,
  modelFinder,
  parseData,
  parseMetadata,
  type RecordedEvent,
} from '../../event-log/index.js';
import type { FeedChanges } from './feed-changes.js';

export interface FeedEvent {
  readonly position: number;
  /** The CloudEvent as JSON, on one line. */
  readonly line: string;
}

/** Events as callers see them: CloudEvents 1.0 (JSON format). The wiring makes it from all read models. */
export class CloudEvents {
  /** Every event type, in the order of the read models. */
  readonly types: readonly string[];
  private readonly hiddenFields: ReadonlyMap<string, readonly string[]>;
  /** Undefined for a stream of a newer version. */
  readonly modelOf: (streamId: string) => AnyReadModel | undefined;

  constructor(readModels: readonly AnyReadModel[]) {
    this.modelOf = modelFinder(readModels);
    const facts = readModels.flatMap(({ events }) => Object.entries(events));
    this.types = facts.map(([type]) => type);
    this.hiddenFields = new Map(facts.map(([type, { hidden = [] }]) => [type, hidden]));
  }

  /** Types with fields that no answer shows. */
  get hiddenTypes(): readonly string[] {
    return this.types.filter((type) => (this.hiddenFields.get(type) ?? []).length > 0);
  }

  /**
   * The lines of events that follow each other, up to one that cannot be read. Throws Problem if that is the first: it
   * names the position.
   */
  linesOf(events: readonly RecordedEvent[], changes?: FeedChanges): FeedEvent[] {
    const lines: FeedEvent[] = [];
    try {
      for (const event of events)
        lines.push({ position: event.position, line: this.lineOf(event, changes?.get(event.position)) });
    } catch (error) {
      if (lines.length === 0) throw error;
    }
    return lines;
  }

  /**
   * The event on one line, the same for every reader and at every host. Attributes that CloudEvents does not define are
   * extension attributes. `data` is the text of the log, without hidden fields, and
   * with the changes if there are any: an extension attribute holds no list.
   */
  lineOf(event: RecordedEvent, changes?: readonly FieldChange[]): string {
    const metadata = parseMetadata(event);
    const attributes = JSON.stringify({
      specversion: '1.0',
      id: event.eventId,
      // Relative: an absolute one would change with the host that the reader calls, or when the service moves.
      source: `/accounts/${event.accountId}`,
      type: event.type,
      subject: event.streamId,
      time: event.recordedAt,
      datacontenttype: 'application/json',
      logposition: event.position,
      streamversion: event.streamVersion,
      actor: attributeOf(metadata.actor),
      apikeyid: attributeOf(metadata.api_key_id),
      tokenid: attributeOf(metadata.token_id),
      clientip: attributeOf(metadata.ip),
      useragent: attributeOf(metadata.user_agent),
      operationid: attributeOf(metadata.operation_id),
      correlationid: attributeOf(correlationOf(metadata)),
      causationid: attributeOf(metadata.causation_id),
    });
    return `${attributes.slice(0, -1)},"data":${this.visibleData(event, changes)}}`;
  }

  private visibleData(event: RecordedEvent, changes?: readonly FieldChange[]): string {
    // The data is parsed even if it is shown as it is: a text that is not JSON would make the whole page unreadable.
    const data = parseData(event);
    const hidden = this.hiddenFields.get(event.type) ?? [];
    if (hidden.length === 0 && changes === undefined) return event.data;
    const fields = Object.entries(data).filter(([field]) => !hidden.includes(field));
    return JSON.stringify({ ...Object.fromEntries(fields), changes });
  }
}

/** Code points that an attribute of CloudEvents must not hold: control characters, lone surrogates, noncharacters. */
const FORBIDDEN = /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/gu;

/** The caller chose some of these texts, such as its user agent. Undefined for an empty one, which is not allowed either. */
const attributeOf = (text: unknown): string | undefined =>
  typeof text !== 'string' || text === '' ? undefined : text.replace(FORBIDDEN, '\ufffd');
