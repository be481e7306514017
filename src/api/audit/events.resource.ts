import type { Providers } from '../http/documentation.js';
import { ApiField, ApiSchemaName } from '../http/openapi/decorators.js';
import {
  AFTER,
  AS_OF,
  EVENT_LIMIT,
  EXAMPLE_KSUID,
  EXAMPLE_TIME,
  NEXT_PAGE_URI,
  type ParameterOf,
  queryParameter,
  URI_OF_LIST,
} from '../http/openapi/parts.js';
import {
  ACTOR,
  CAUSATION,
  CORRELATION,
  EXAMPLE_EVENT_ID,
  EXAMPLE_TRACE_ID,
  RECORDED_AT,
} from '../resources/history.resource.js';
import { CloudEvents } from './cloud-events.js';

/** Only the wiring knows every event type, so the list is read when the document is made. */
const eventTypes = (providers: Providers): readonly string[] => providers.get(CloudEvents).types;

const optional = (description: string, example: string) => ({ description, example, required: false });

@ApiSchemaName('CloudEvent')
export class CloudEventResource {
  @ApiField({ description: 'Version of CloudEvents.', enum: ['1.0'], example: '1.0' }) specversion!: string;
  @ApiField({ description: 'Id of the event: a UUID.', example: EXAMPLE_EVENT_ID }) id!: string;
  @ApiField({
    description: 'The account whose log has the event. It is the same for every reader, so it names no host.',
    format: 'uri-reference',
    example: `/accounts/ac_${EXAMPLE_KSUID}`,
  })
  source!: string;
  @ApiField({ description: 'Type of the event.', enum: eventTypes, example: 'ssh_credential_deleted.v1' })
  type!: string;
  @ApiField({ description: 'Id of the entity that changed.', example: `sshcr_${EXAMPLE_KSUID}` }) subject!: string;
  @ApiField(RECORDED_AT) time!: string;
  @ApiField({ description: 'Media type of `data`.', enum: ['application/json'], example: 'application/json' })
  datacontenttype!: string;
  @ApiField({
    description: "Position of the event in the account's log: 1, 2, 3 and so on, without gaps.",
    type: 'integer',
    example: 42,
  })
  logposition!: number;
  @ApiField({ description: 'Version of the entity after the event.', type: 'integer', example: 2 })
  streamversion!: number;
  @ApiField(ACTOR) actor!: string;
  @ApiField(optional('API key of the request.', `ak_${EXAMPLE_KSUID}`)) apikeyid?: string;
  @ApiField(optional('Id of the OpenID Connect token of the request.', '8b0c0b52')) tokenid?: string;
  @ApiField(optional('Address of the client.', '203.0.113.7')) clientip?: string;
  @ApiField(
    optional(
      'Program of the client, as its User-Agent header says; U+FFFD stands for a control character.',
      'curl/8.5.0',
    ),
  )
  useragent?: string;
  @ApiField(optional('Operation id of the request.', `op_${EXAMPLE_KSUID}`)) operationid?: string;
  @ApiField(optional(`${CORRELATION}.`, EXAMPLE_TRACE_ID)) correlationid?: string;
  @ApiField(optional(`${CAUSATION}.`, EXAMPLE_EVENT_ID)) causationid?: string;
  @ApiField({
    description:
      'All fields for a created event, the changed fields for an updated event, empty for a deleted event. Hashes of API keys are left out. ' +
      'With `include=changes` also `changes`, as in a history.',
    type: 'object',
    additionalProperties: true,
    example: {},
  })
  data!: object;
}

@ApiSchemaName('EventPage')
export class EventPageResource {
  @ApiField({ description: 'At most `limit` events, oldest first.', listOf: CloudEventResource })
  events!: readonly CloudEventResource[];
  @ApiField(URI_OF_LIST) uri!: string;
  @ApiField(NEXT_PAGE_URI) next_page_uri!: string | null;
}

const filter = (name: string, description: string, schema: object): ParameterOf =>
  queryParameter(name, description, { type: 'string', ...schema });

const TYPE = queryParameter('type', 'Only events of this type.', (_, providers) => ({
  type: 'string',
  enum: [...eventTypes(providers)],
}));

export const FEED_PARAMETERS = [
  AFTER,
  EVENT_LIMIT,
  AS_OF,
  filter('stream', 'Only events of the entity with this id.', { examples: [`sshcr_${EXAMPLE_KSUID}`] }),
  TYPE,
  filter('actor', 'Only events of this user or bot.', { examples: [`usr_${EXAMPLE_KSUID}`] }),
  filter(
    'include',
    '`changes`: what each event changed, from and to which value. Only for pages, of at most 100 events.',
    {
      enum: ['changes'],
    },
  ),
  filter('since', 'Only events recorded after this RFC 3339 time.', { examples: [EXAMPLE_TIME] }),
  filter('until', 'Only events recorded until this RFC 3339 time.', { examples: [EXAMPLE_TIME] }),
];
