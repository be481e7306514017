import { ANYTHING, ApiField, ApiSchemaName } from '../http/openapi/decorators.js';
import { EXAMPLE_BASE_URL, EXAMPLE_KSUID, EXAMPLE_TIME, NEXT_PAGE_URI } from '../http/openapi/parts.js';
import type { EventMetadata } from '../log/event.js';
import type { FieldChange } from '../log/read/field-changes.js';
import type { RecordedEvent } from '../log/read/recorded-event.js';

@ApiSchemaName('FieldChange')
export class FieldChangeResource {
  @ApiField({ description: 'Which field.', example: 'acl' }) field!: string;
  @ApiField({ description: 'Before; null when there was no such thing.', oneOf: ANYTHING, example: [] }) from!: unknown;
  @ApiField({ description: 'After.', oneOf: ANYTHING, example: ['bind:app.example.com'] }) to!: unknown;
}

const EXAMPLE_URI = `${EXAMPLE_BASE_URL}/ssh_credentials/sshcr_${EXAMPLE_KSUID}/events`;

const known = (description: string, example: string | null) => ({
  description: `${description} Null where that is not known.`,
  type: 'string' as const,
  nullable: true,
  example,
});

/** One event of a thing's history: who, when, from where, and what it changed. */
@ApiSchemaName('HistoryEvent')
export class HistoryEventResource {
  @ApiField({ description: "Where it stands in the account's log.", type: 'integer', example: 42 }) position!: number;
  @ApiField({ description: 'The version of the thing that it made.', type: 'integer', example: 2 }) version!: number;
  @ApiField({ description: 'What happened.', example: 'ssh_credential_updated.v1' }) type!: string;
  @ApiField({
    description: 'When it was recorded: RFC 3339, UTC, microseconds.',
    format: 'date-time',
    example: EXAMPLE_TIME,
  })
  time!: string;
  @ApiField({ description: 'Who: a user or bot, or `operator`, `system`, `oidc`.', example: `usr_${EXAMPLE_KSUID}` })
  actor!: string;
  @ApiField(known('With which API key.', `ak_${EXAMPLE_KSUID}`)) api_key_id!: string | null;
  @ApiField(known('With which token of the OpenID Connect issuer.', null)) token_id!: string | null;
  @ApiField(known('From which address.', '203.0.113.7')) ip!: string | null;
  @ApiField(known('With which program.', 'curl/8.5.0')) user_agent!: string | null;
  @ApiField(known('In which request.', `op_${EXAMPLE_KSUID}`)) operation_id!: string | null;
  @ApiField({
    description: 'What it changed: every field of a new thing, none for a deletion.',
    listOf: FieldChangeResource,
  })
  changes!: readonly FieldChangeResource[];
}

@ApiSchemaName('History')
export class HistoryResource {
  @ApiField({ description: 'At most `limit` of them, oldest first.', listOf: HistoryEventResource })
  events!: readonly HistoryEventResource[];
  @ApiField({ description: 'Where the history is, without a query.', format: 'uri', example: EXAMPLE_URI })
  uri!: string;
  @ApiField(NEXT_PAGE_URI) next_page_uri!: string | null;
}

export function toHistoryEvent(event: RecordedEvent, changes: readonly FieldChange[]): HistoryEventResource {
  const metadata = JSON.parse(event.metadata) as EventMetadata;
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
    changes,
  };
}
