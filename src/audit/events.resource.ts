import { ApiField, ApiSchemaName } from '../http/openapi/decorators.js';
import {
  AFTER,
  AS_OF,
  EVENT_LIMIT,
  EXAMPLE_BASE_URL,
  EXAMPLE_KSUID,
  EXAMPLE_TIME,
  filterParameter,
  NEXT_PAGE_URI,
  uriOfList,
} from '../http/openapi/parts.js';
import { EVENT_TYPES } from './cloud-event.js';

const optional = (description: string, example: string) => ({ description, example, required: false });

@ApiSchemaName('CloudEvent')
export class CloudEventResource {
  @ApiField({ description: 'The version of CloudEvents.', enum: ['1.0'], example: '1.0' }) specversion!: string;
  @ApiField({ description: 'A UUID.', example: '019aa5c1-7f2e-7c3a-9b1d-0a4f6c2e8d11' }) id!: string;
  @ApiField({
    description: 'Whose log: the account.',
    format: 'uri',
    example: `${EXAMPLE_BASE_URL}/accounts/ac_${EXAMPLE_KSUID}`,
  })
  source!: string;
  @ApiField({ description: 'What happened.', enum: EVENT_TYPES, example: 'ssh_credential_deleted.v1' }) type!: string;
  @ApiField({ description: 'To what: its id.', example: `sshcr_${EXAMPLE_KSUID}` }) subject!: string;
  @ApiField({
    description: 'When it was recorded: RFC 3339, UTC, microseconds.',
    format: 'date-time',
    example: EXAMPLE_TIME,
  })
  time!: string;
  @ApiField({ description: 'Of `data`.', enum: ['application/json'], example: 'application/json' })
  datacontenttype!: string;
  @ApiField({
    description: "Its place in the account's log: 1, 2, 3 and so on, without gaps.",
    type: 'integer',
    example: 42,
  })
  logposition!: number;
  @ApiField({ description: 'The version of the thing that it made.', type: 'integer', example: 2 })
  streamversion!: number;
  @ApiField({ description: 'Who: a user or bot, or `operator`, `system`, `oidc`.', example: `usr_${EXAMPLE_KSUID}` })
  actor!: string;
  @ApiField(optional('With which API key.', `ak_${EXAMPLE_KSUID}`)) apikeyid?: string;
  @ApiField(optional('With which token of the OpenID Connect issuer.', '8b0c0b52')) tokenid?: string;
  @ApiField(optional('From which address.', '203.0.113.7')) clientip?: string;
  @ApiField(optional('With which program.', 'curl/8.5.0')) useragent?: string;
  @ApiField(optional('In which request.', `op_${EXAMPLE_KSUID}`)) operationid?: string;
  @ApiField({
    description:
      'A created event holds the whole, an updated one what changed, a deleted one nothing. Hashes of API keys stay in the log.',
    type: 'object',
    additionalProperties: true,
    example: {},
  })
  data!: object;
}

@ApiSchemaName('EventPage')
export class EventPageResource {
  @ApiField({ description: 'At most `limit` of them, oldest first.', listOf: CloudEventResource })
  events!: readonly CloudEventResource[];
  @ApiField(uriOfList('events')) uri!: string;
  @ApiField(NEXT_PAGE_URI) next_page_uri!: string | null;
}

export const FEED_PARAMETERS = [
  AFTER,
  EVENT_LIMIT,
  AS_OF,
  filterParameter('stream', 'Only events of the thing with this id.', { examples: [`sshcr_${EXAMPLE_KSUID}`] }),
  filterParameter('type', 'Only events of this type.', { enum: [...EVENT_TYPES] }),
  filterParameter('actor', 'Only what this user or bot did.', { examples: [`usr_${EXAMPLE_KSUID}`] }),
  filterParameter('since', 'Only events recorded after this RFC 3339 time.', { examples: [EXAMPLE_TIME] }),
  filterParameter('until', 'Only events recorded until this RFC 3339 time.', { examples: [EXAMPLE_TIME] }),
];
