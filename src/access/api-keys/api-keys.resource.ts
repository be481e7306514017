import { isAdmin } from '../../caller.js';
import { ApiField, ApiSchemaName } from '../../http/openapi/decorators.js';
import { CREATED_AT, EXAMPLE_KSUID, idField, uriField } from '../../http/openapi/parts.js';
import { Text, TextOfBytes } from '../../http/validated-body.js';
import type { Entity } from '../../log/read-model.js';
import { type Logs, ResourceReads } from '../../resources/resource.js';
import type { ApiKeys } from '../access.queries.js';
import { apiKeysReadModel } from '../access.read-models.js';
import { type ApiKey, isVisibleTo, notFound } from './api-key.js';

export const PATH = 'api_keys';
const MAX_DESCRIPTION_BYTES = 255;
const MAX_METADATA_BYTES = 4096;

const DESCRIPTION = { description: 'What it is, for people.', example: 'Key of the deployer' };
const METADATA = { description: 'Anything, for programs.', example: '{"pipeline":"main"}' };
const OWNER_ID = {
  description:
    'Who acts by this key: an active user or bot of the account, the caller when empty or absent. Only admins may name somebody else.',
};
const TOKEN = {
  description:
    'The secret, to be sent as `Authorization: Bearer <token>`. It is in the answer that creates the key, once, and null ever after.',
  type: 'string' as const,
  nullable: true,
};
const UNCHANGED = 'Taken only as it is.';

export class CreateApiKeyBody {
  @TextOfBytes(MAX_DESCRIPTION_BYTES, 'request_malformed', DESCRIPTION) description?: string;
  @TextOfBytes(MAX_METADATA_BYTES, 'request_malformed', METADATA) metadata?: string;
  @Text(OWNER_ID) owner_id?: string;
}

/** `id`, `uri`, `owner_id` and `created_at` are taken when unchanged. */
export class UpdateApiKeyBody {
  @TextOfBytes(MAX_DESCRIPTION_BYTES, 'request_malformed', DESCRIPTION) description?: string;
  @TextOfBytes(MAX_METADATA_BYTES, 'request_malformed', METADATA) metadata?: string;
  @Text({ description: UNCHANGED }) owner_id?: string;
  @Text({ description: UNCHANGED }) id?: string;
  @Text({ description: UNCHANGED }) uri?: string;
  @Text({ description: UNCHANGED }) created_at?: string;
}

@ApiSchemaName('ApiKey')
export class ApiKeyResource {
  @ApiField(idField('ak')) id!: string;
  @ApiField(uriField(PATH, 'ak')) uri!: string;
  @ApiField(DESCRIPTION) description!: string;
  @ApiField(METADATA) metadata!: string;
  @ApiField(CREATED_AT) created_at!: string;
  @ApiField({ description: 'Who acts by this key.', example: `bot_${EXAMPLE_KSUID}` }) owner_id!: string;
  @ApiField({ ...TOKEN, example: null }) token!: string | null;
}

/** The one answer with the token in it; null all the same when it is the repetition of an earlier request. */
@ApiSchemaName('CreatedApiKey')
export class CreatedApiKeyResource extends ApiKeyResource {
  @ApiField({ ...TOKEN, example: `${EXAMPLE_KSUID}_Tv4pG1a9x2k6Qw8ZrB0mLsYcUdHeJfNo` }) override token!: string | null;
}

/** `token` is null here: it was in the answer that created the key, and is nowhere since. */
export const toResource = ({ id, createdAt, state }: Entity<ApiKey>, baseUrl: string): ApiKeyResource => ({
  id,
  uri: `${baseUrl}/${PATH}/${id}`,
  description: state.description,
  metadata: state.metadata,
  created_at: createdAt.toISOString(),
  owner_id: state.ownerId,
  token: null,
});

/** Their GETs. */
export const apiKeyReads = (keys: ApiKeys, logs: Logs) =>
  new ResourceReads(
    {
      model: apiKeysReadModel,
      idPrefix: 'ak',
      path: PATH,
      plural: 'keys',
      queries: keys,
      listFor: (caller, page) =>
        isAdmin(caller) ? keys.list(caller.accountId, page) : keys.listOf(caller.accountId, caller.principalId, page),
      isShownTo: isVisibleTo,
      ownerOf: ({ ownerId }) => ownerId,
      notFound,
      toResource,
    },
    logs,
  );
