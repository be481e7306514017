import type { Entity } from '../../../event-log/index.js';
import type { Role } from '../../../kernel/caller.js';
import { ApiField, ApiSchemaName } from '../../http/openapi/decorators.js';
import { Flag, Text, TextOfBytes } from '../../http/validated-body.js';
import { envelopeFields, ReadOnlyEnvelope } from '../../resources/fields.js';
import type { ResourceDescriptor } from '../../resources/resource-descriptor.js';
import { type Principal, type PrincipalEvent, principalNotFound } from './principal.js';
import { principalsReadModel } from './principals.read-model.js';
import { ROLE } from './role.js';

const PATH = 'bot_users';
const ENVELOPE = envelopeFields(PATH, 'bot');
const MAX_NAME_BYTES = 255;
const NAME = { description: 'Name of the bot: unique in the account, not blank.', pattern: '\\S', example: 'deployer' };
const ACTIVE = {
  description: 'Whether the API keys and SSH credentials of this bot are accepted.',
  example: true,
};
const BOT_ROLE = { ...ROLE, example: 'auditor' };

/** A field that another request sets. A refusal of the field names the request. */
const ELSEWHERE = { role: 'set it by PUT /bot_users/{id}/role' };

export class CreateBotUserBody {
  static readonly elsewhere = ELSEWHERE;
  @TextOfBytes(MAX_NAME_BYTES, 'request_malformed', { ...NAME, required: true }) name?: string;
  @Flag({ ...ACTIVE, description: `${ACTIVE.description} Absent: true.` }) active?: boolean;
}

export class UpdateBotUserBody extends ReadOnlyEnvelope {
  static readonly elsewhere = ELSEWHERE;
  @TextOfBytes(MAX_NAME_BYTES, 'request_malformed', NAME) name?: string;
  @Flag(ACTIVE) active?: boolean;
}

export class PutBotUserRoleBody {
  @Text({ ...BOT_ROLE, required: true }) role?: string;
}

@ApiSchemaName('BotUser')
export class BotUserResource {
  @ApiField(ENVELOPE.id) id!: string;
  @ApiField(ENVELOPE.uri) uri!: string;
  @ApiField(NAME) name!: string;
  @ApiField(ACTIVE) active!: boolean;
  @ApiField(ENVELOPE.created_at) created_at!: string;
}

/** A separate route, since a bot has exactly the fields of the public API. */
@ApiSchemaName('BotUserRole')
export class BotUserRoleResource {
  @ApiField(BOT_ROLE) role!: Role;
}

export const BOT_USERS: ResourceDescriptor<Principal, PrincipalEvent> = {
  model: principalsReadModel,
  idPrefix: 'bot',
  path: PATH,
  condition: `t.kind = 'bot' and not t.deleted`,
  isLive: ({ deleted }) => !deleted,
  notFound: principalNotFound,
  toResource,
  partsOf: ({ role }) => ({ role }),
};

/**
 * What newer clients of the public API call a bot: the same entities under another path, and with another name of their
 * list. The uri of a bot stays the same.
 */
export const SERVICE_USERS: ResourceDescriptor<Principal, PrincipalEvent> = { ...BOT_USERS, path: 'service_users' };

@ApiSchemaName('ServiceUser')
export class ServiceUserResource extends BotUserResource {}

function toResource({ id, name, active, created_at }: Entity<Principal>, baseUrl: string): BotUserResource {
  return { id, uri: `${baseUrl}/${PATH}/${id}`, name, active, created_at: created_at.toISOString() };
}
