import type { Role } from '../../caller.js';
import { ApiField, ApiSchemaName } from '../../http/openapi/decorators.js';
import { CREATED_AT, idField, uriField } from '../../http/openapi/parts.js';
import { Flag, Text } from '../../http/validated-body.js';
import type { Entity } from '../../log/read-model.js';
import { type Logs, ResourceReads } from '../../resources/resource.js';
import type { Users } from '../access.queries.js';
import { principalsReadModel } from '../access.read-models.js';
import { notFound, type Principal } from './principal.js';

export const PATH = 'users';

const EMAIL = {
  description: 'An email address of ASCII characters, unique in the account whatever its case.',
  example: 'ada@example.com',
};
const ROLE = {
  description: 'Admins manage users and bots, and what others own.',
  enum: ['admin', 'member'],
  example: 'member',
};
const ACTIVE = { description: 'Whether the API keys and SSH credentials of this user are taken.', example: true };
const UNCHANGED = 'Taken only as it is.';

export class CreateUserBody {
  @Text({ ...EMAIL, required: true }) email?: string;
  @Text({ ...ROLE, description: `${ROLE.description} A member when absent.` }) role?: string;
}

/** `id`, `uri`, `email` and `created_at` are taken when unchanged. */
export class UpdateUserBody {
  @Text(ROLE) role?: string;
  @Flag(ACTIVE) active?: boolean;
  @Text({ description: UNCHANGED }) email?: string;
  @Text({ description: UNCHANGED }) id?: string;
  @Text({ description: UNCHANGED }) uri?: string;
  @Text({ description: UNCHANGED }) created_at?: string;
}

@ApiSchemaName('User')
export class UserResource {
  @ApiField(idField('usr')) id!: string;
  @ApiField(uriField(PATH, 'usr')) uri!: string;
  @ApiField(EMAIL) email!: string;
  @ApiField(ROLE) role!: Role;
  @ApiField(ACTIVE) active!: boolean;
  @ApiField(CREATED_AT) created_at!: string;
}

export const toResource = ({ id, createdAt, state }: Entity<Principal>, baseUrl: string): UserResource => ({
  id,
  uri: `${baseUrl}/${PATH}/${id}`,
  email: state.email,
  role: state.role,
  active: state.active,
  created_at: createdAt.toISOString(),
});

/** Their GETs. */
export const userReads = (users: Users, logs: Logs) =>
  new ResourceReads(
    {
      model: principalsReadModel,
      idPrefix: 'usr',
      path: PATH,
      plural: PATH,
      queries: users,
      isShownTo: (_, { deleted }) => !deleted,
      notFound,
      toResource,
    },
    logs,
  );
