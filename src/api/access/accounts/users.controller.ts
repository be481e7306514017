import { controllerOf } from '../../resources/routes/resource-routes.js';
import {
  CreateUser,
  CreateUserBody,
  DeleteUser,
  UpdateUser,
  UpdateUserBody,
  USERS,
  UserResource,
} from './users.resource.js';

export const UsersController = controllerOf(USERS, {
  names: ['User', 'Users'],
  nouns: ['a user', 'users'],
  answer: UserResource,
  create: { command: CreateUser, body: CreateUserBody, problems: ['role_missing', 'conflict'] },
  update: {
    command: UpdateUser,
    body: UpdateUserBody,
    description:
      'An absent or null field stays as it is. The last active admin of an account must stay an active admin (409).',
    problems: ['role_missing', 'not_found', 'conflict'],
  },
  delete: {
    command: DeleteUser,
    description:
      'The API keys and SSH credentials of this user are deleted too. The last active admin of an account cannot be deleted (409).',
    problems: ['role_missing', 'not_found', 'conflict'],
  },
});
