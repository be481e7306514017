import { correlationOf, type EventMetadata } from '../log/event.js';
import type { RecordedEvent } from '../log/read/recorded-event.js';
import type { AnyReadModel } from '../log/read-model.js';

/** Events as callers see them: CloudEvents 1.0 (JSON format). The wiring makes it from all read models. */
export class CloudEvents {
  /** Every event type, in the order of the read models. */
  readonly types: readonly string[];
  private readonly hiddenFields: ReadonlyMap<string, readonly string[]>;

  constructor(readModels: readonly Pick<AnyReadModel, 'events'>[]) {
    const facts = readModels.flatMap(({ events }) => Object.entries(events));
    this.types = facts.map(([type]) => type);
    this.hiddenFields = new Map(facts.map(([type, { hidden = [] }]) => [type, hidden]));
  }

  /**
   * The event on one line, the same whoever reads it and wherever. Attributes that CloudEvents does not define are
   * extension attributes. `data` is the text of the log, without hidden fields.
   */
  lineOf(event: RecordedEvent): string {
    const metadata = JSON.parse(event.metadata) as EventMetadata;
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
    return `${attributes.slice(0, -1)},"data":${this.visibleData(event)}}`;
  }

  private visibleData({ type, data }: RecordedEvent): string {
    const hidden = this.hiddenFields.get(type) ?? [];
    if (hidden.length === 0) return data;
    const fields = Object.entries(JSON.parse(data) as object).filter(([field]) => !hidden.includes(field));
    return JSON.stringify(Object.fromEntries(fields));
  }
}

/** Code points that an attribute of CloudEvents must not hold: control characters, lone surrogates, noncharacters. */
const FORBIDDEN = /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/gu;

/** The caller chose some of these texts, such as its user agent. Undefined for an empty one, which is not allowed either. */
const attributeOf = (text: string | undefined): string | undefined =>
  text === '' ? undefined : text?.replace(FORBIDDEN, '\ufffd');
