import type { Entity } from '../../../event-log/index.js';
import type { Role } from '../../../kernel/caller.js';
import { ApiField, ApiSchemaName } from '../../http/openapi/decorators.js';
import { Flag, Text } from '../../http/validated-body.js';
import { envelopeFields, ReadOnly, ReadOnlyEnvelope } from '../../resources/fields.js';
import type { ResourceDescriptor } from '../../resources/resource-descriptor.js';
import { type Principal, type PrincipalEvent, principalNotFound } from './principal.js';
import { principalsReadModel } from './principals.read-model.js';
import { ROLE } from './role.js';

const PATH = 'users';
const ENVELOPE = envelopeFields(PATH, 'usr');
const EMAIL = {
  description: 'Email address of ASCII characters: unique in the account, regardless of case.',
  example: 'ada@example.com',
};
const USER_ROLE = { ...ROLE, example: 'member' };
const ACTIVE = {
  description: 'Whether the API keys and SSH credentials of this user are accepted.',
  example: true,
};

export class CreateUserBody {
  @Text({ ...EMAIL, required: true }) email?: string;
  @Text({ ...USER_ROLE, description: `${ROLE.description} Absent: member.` }) role?: string;
}

export class UpdateUserBody extends ReadOnlyEnvelope {
  @Text(USER_ROLE) role?: string;
  @Flag(ACTIVE) active?: boolean;
  @ReadOnly() email?: string;
}

@ApiSchemaName('User')
export class UserResource {
  @ApiField(ENVELOPE.id) id!: string;
  @ApiField(ENVELOPE.uri) uri!: string;
  @ApiField(EMAIL) email!: string;
  @ApiField(USER_ROLE) role!: Role;
  @ApiField(ACTIVE) active!: boolean;
  @ApiField(ENVELOPE.created_at) created_at!: string;
}

export const USERS: ResourceDescriptor<Principal, PrincipalEvent> = {
  model: principalsReadModel,
  idPrefix: 'usr',
  path: PATH,
  readOnlyFields: ['email'],
  condition: `t.kind = 'user' and not t.deleted`,
  isLive: ({ deleted }) => !deleted,
  notFound: principalNotFound,
  toResource,
};

function toResource({ id, email, role, active, created_at }: Entity<Principal>, baseUrl: string): UserResource {
  return { id, uri: `${baseUrl}/${PATH}/${id}`, email, role, active, created_at: created_at.toISOString() };
}
