import type { Entity } from '../../../event-log/index.js';
import { ApiField, ApiSchemaName } from '../../http/openapi/decorators.js';
import { EXAMPLE_KSUID } from '../../http/openapi/parts.js';
import { Text } from '../../http/validated-body.js';
import {
  Description,
  envelopeFields,
  Metadata,
  ReadOnly,
  ReadOnlyEnvelope,
  textFields,
} from '../../resources/fields.js';
import type { OwnedResourceDescriptor } from '../../resources/resource-descriptor.js';
import { type ApiKey, type ApiKeyEvent, apiKeyNotFound, REMOVAL } from './api-key.js';
import { apiKeysReadModel } from './api-keys.read-model.js';

const PATH = 'api_keys';
const ENVELOPE = envelopeFields(PATH, 'ak');
const TEXTS = textFields('Key of the deployer', '{"pipeline":"main"}');
const OWNER_ID = {
  description:
    'Principal that this key authenticates: an active user or bot of the account. Empty or absent: the caller. ' +
    'Only admins may name another principal.',
};
const TOKEN = {
  description:
    'Secret of the key, to be sent as `Authorization: Bearer <token>`. Only the answer that creates the key has it; all later answers have null.',
  type: 'string' as const,
  nullable: true,
};

/** Fields that other requests set. A refusal of such a field names the request. */
const ELSEWHERE = { expires_at: 'set it by PUT /api_keys/{id}/expiry' };

export class CreateApiKeyBody {
  static readonly elsewhere = ELSEWHERE;
  @Description('request_malformed', TEXTS.description) description?: string;
  @Metadata('request_malformed', TEXTS.metadata) metadata?: string;
  @Text(OWNER_ID) owner_id?: string;
}

export class UpdateApiKeyBody extends ReadOnlyEnvelope {
  @Description('request_malformed', TEXTS.description) description?: string;
  @Metadata('request_malformed', TEXTS.metadata) metadata?: string;
  @ReadOnly() owner_id?: string;
  @ReadOnly() expires_at?: string;
}

@ApiSchemaName('ApiKey')
export class ApiKeyResource {
  @ApiField(ENVELOPE.id) id!: string;
  @ApiField(ENVELOPE.uri) uri!: string;
  @ApiField(TEXTS.description) description!: string;
  @ApiField(TEXTS.metadata) metadata!: string;
  @ApiField(ENVELOPE.created_at) created_at!: string;
  @ApiField({ description: 'Principal that this key authenticates.', example: `bot_${EXAMPLE_KSUID}` })
  owner_id!: string;
  @ApiField({ ...TOKEN, example: null }) token!: string | null;
  @ApiField({
    description: 'When the key stops working. Absent: never.',
    format: 'date-time',
    example: '2027-11-21T11:45:07.478Z',
    required: false,
  })
  expires_at?: string;
}

/** The only answer with the token. The answer to a repeated request has null: the database holds only the hash. */
@ApiSchemaName('CreatedApiKey')
export class CreatedApiKeyResource extends ApiKeyResource {
  @ApiField({ ...TOKEN, example: `${EXAMPLE_KSUID}_Tv4pG1a9x2k6Qw8ZrB0mLsYcUdHeJfNo` }) override token!: string | null;
}

export const API_KEYS: OwnedResourceDescriptor<ApiKey, ApiKeyEvent> = {
  model: apiKeysReadModel,
  idPrefix: 'ak',
  path: PATH,
  listKey: 'keys',
  isPrivate: true,
  readOnlyFields: ['owner_id', 'expires_at'],
  elsewhere: { expires_at: 'PUT /api_keys/{id}/expiry' },
  removal: REMOVAL,
  notFound: apiKeyNotFound,
  toResource,
  partsOf: ({ expires_at }) => ({ expires_at: expires_at?.toISOString() ?? null }),
};

function toResource(key: Entity<ApiKey>, baseUrl: string): ApiKeyResource {
  const { id, description, metadata, created_at, owner_id, expires_at } = key;
  const uri = `${baseUrl}/${PATH}/${id}`;
  const end = expires_at && { expires_at: expires_at.toISOString() };
  return { id, uri, description, metadata, created_at: created_at.toISOString(), owner_id, token: null, ...end };
}
