import { ApiField, ApiSchemaName } from '../../http/openapi/decorators.js';
import { CREATED_AT, idField, uriField } from '../../http/openapi/parts.js';
import { Flag, Text, TextOfBytes } from '../../http/validated-body.js';
import type { Entity } from '../../log/read-model.js';
import { type Logs, ResourceReads } from '../../resources/resource.js';
import type { Bots } from '../access.queries.js';
import { principalsReadModel } from '../access.read-models.js';
import { notFound, type Principal } from './principal.js';

export const PATH = 'bot_users';
const MAX_NAME_BYTES = 255;

const NAME = { description: 'Unique in the account, not blank.', pattern: '\\S', example: 'deployer' };
const ACTIVE = { description: 'Whether the API keys and SSH credentials of this bot are taken.', example: true };
const UNCHANGED = 'Taken only as it is.';

export class CreateBotUserBody {
  @TextOfBytes(MAX_NAME_BYTES, 'request_malformed', { ...NAME, required: true }) name?: string;
  @Flag({ ...ACTIVE, description: `${ACTIVE.description} True when absent.` }) active?: boolean;
}

/** `id`, `uri` and `created_at` are taken when unchanged. */
export class UpdateBotUserBody {
  @TextOfBytes(MAX_NAME_BYTES, 'request_malformed', NAME) name?: string;
  @Flag(ACTIVE) active?: boolean;
  @Text({ description: UNCHANGED }) id?: string;
  @Text({ description: UNCHANGED }) uri?: string;
  @Text({ description: UNCHANGED }) created_at?: string;
}

@ApiSchemaName('BotUser')
export class BotUserResource {
  @ApiField(idField('bot')) id!: string;
  @ApiField(uriField(PATH, 'bot')) uri!: string;
  @ApiField(NAME) name!: string;
  @ApiField(ACTIVE) active!: boolean;
  @ApiField(CREATED_AT) created_at!: string;
}

export const toResource = ({ id, createdAt, state }: Entity<Principal>, baseUrl: string): BotUserResource => ({
  id,
  uri: `${baseUrl}/${PATH}/${id}`,
  name: state.name,
  active: state.active,
  created_at: createdAt.toISOString(),
});

/** Their GETs. */
export const botUserReads = (bots: Bots, logs: Logs) =>
  new ResourceReads(
    {
      model: principalsReadModel,
      idPrefix: 'bot',
      path: PATH,
      plural: PATH,
      queries: bots,
      isShownTo: (_, { deleted }) => !deleted,
      notFound,
      toResource,
    },
    logs,
  );
