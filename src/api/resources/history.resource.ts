import { correlationOf, type FieldChange, parseMetadata, type RecordedEvent } from '../../event-log/index.js';
import { ANYTHING, ApiField, ApiSchemaName } from '../http/openapi/decorators.js';
import { EXAMPLE_BASE_URL, EXAMPLE_KSUID, EXAMPLE_TIME, NEXT_PAGE_URI } from '../http/openapi/parts.js';

@ApiSchemaName('FieldChange')
export class FieldChangeResource {
  @ApiField({ description: 'Name of the field.', example: 'acl' }) field!: string;
  @ApiField({
    description: 'Value before the event; null if the event created the entity.',
    oneOf: ANYTHING,
    example: [],
  })
  from!: unknown;
  @ApiField({ description: 'Value after the event.', oneOf: ANYTHING, example: ['bind:app.example.com'] }) to!: unknown;
}

/** The same fields in histories and in the feed. */
export const RECORDED_AT = {
  description: 'When the event was recorded: RFC 3339, UTC, microseconds.',
  format: 'date-time' as const,
  example: EXAMPLE_TIME,
};
export const ACTOR = {
  description: 'User or bot that made the change, or `operator`, `system`, `oidc`.',
  example: `usr_${EXAMPLE_KSUID}`,
};
export const CORRELATION =
  'What the events of one request have in common: the trace-id of its `traceparent` header, or else its operation id';
export const CAUSATION = 'Id of the event that caused this one, such as the deletion of the owner';
export const EXAMPLE_TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
export const EXAMPLE_EVENT_ID = '019aa5c1-7f2e-7c3a-9b1d-0a4f6c2e8d11';

const EXAMPLE_URI = `${EXAMPLE_BASE_URL}/ssh_credentials/sshcr_${EXAMPLE_KSUID}/events`;

const nullable = (description: string, example: string | null) => ({
  description: `${description}; null if it was not recorded.`,
  type: 'string' as const,
  nullable: true,
  example,
});

/** One event of an entity's history: what it changed, when, by whom and from where. */
@ApiSchemaName('HistoryEvent')
export class HistoryEventResource {
  @ApiField({ description: "Position of the event in the account's log.", type: 'integer', example: 42 })
  position!: number;
  @ApiField({ description: 'Version of the entity after the event.', type: 'integer', example: 2 }) version!: number;
  @ApiField({ description: 'Type of the event.', example: 'ssh_credential_updated.v1' }) type!: string;
  @ApiField(RECORDED_AT) time!: string;
  @ApiField(ACTOR) actor!: string;
  @ApiField(nullable('API key of the request', `ak_${EXAMPLE_KSUID}`)) api_key_id!: string | null;
  @ApiField(nullable('Id of the OpenID Connect token of the request', null)) token_id!: string | null;
  @ApiField(nullable('Address of the client', '203.0.113.7')) ip!: string | null;
  @ApiField(nullable('Program of the client, as its User-Agent header says', 'curl/8.5.0')) user_agent!: string | null;
  @ApiField(nullable('Operation id of the request', `op_${EXAMPLE_KSUID}`)) operation_id!: string | null;
  @ApiField(nullable(CORRELATION, EXAMPLE_TRACE_ID)) correlation_id!: string | null;
  @ApiField({ ...nullable(CAUSATION, null), description: `${CAUSATION}; null if no event did.` })
  causation_id!: string | null;
  @ApiField({
    description: 'The changed fields: all fields for a created event, empty for a deleted event.',
    listOf: FieldChangeResource,
  })
  changes!: readonly FieldChangeResource[];
}

@ApiSchemaName('History')
export class HistoryResource {
  @ApiField({ description: 'At most `limit` events, oldest first.', listOf: HistoryEventResource })
  events!: readonly HistoryEventResource[];
  @ApiField({ description: 'URI of the history, without a query.', format: 'uri', example: EXAMPLE_URI })
  uri!: string;
  @ApiField(NEXT_PAGE_URI) next_page_uri!: string | null;
}

export function toHistoryEvent(event: RecordedEvent, changes: readonly FieldChange[]): HistoryEventResource {
  const metadata = parseMetadata(event);
  return {
    position: event.position,
    version: event.streamVersion,
    type: event.type,
    time: event.recordedAt,
    actor: metadata.actor,
    api_key_id: metadata.api_key_id ?? null,
    token_id: metadata.token_id ?? null,
    ip: metadata.ip ?? null,
    user_agent: metadata.user_agent ?? null,
    operation_id: metadata.operation_id ?? null,
    correlation_id: correlationOf(metadata) ?? null,
    causation_id: metadata.causation_id ?? null,
    changes,
  };
}
