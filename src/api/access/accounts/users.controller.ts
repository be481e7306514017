import { principalsController } from './principals-controller.js';
import { CreateUser, DeleteUser, UpdateUser } from './users.handlers.js';
import { CreateUserBody, UpdateUserBody, USERS, UserResource } from './users.resource.js';

export const UsersController = principalsController({
  of: USERS,
  name: 'User',
  noun: 'user',
  resource: UserResource,
  bodies: { create: CreateUserBody, update: UpdateUserBody },
  commands: { Create: CreateUser, Update: UpdateUser, Delete: DeleteUser },
  update:
    'An absent or null field stays as it is. The last active admin of an account must stay an active admin (409).',
  delete:
    'The API keys and SSH credentials of this user are deleted too. The last active admin of an account cannot be deleted (409).',
});
