import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { Role } from '../../../kernel/caller.js';
import { omitUndefined } from '../../../kernel/omit-undefined.js';
import { malformed } from '../../../kernel/problem.js';
import { CreateCommand, DeleteCommand, UpdateCommand } from '../../resources/commands.js';
import { isEmailAddress } from './email.js';
import { createUser, remove, updateUser } from './principal.js';
import { Principals } from './principals.js';
import { parseRole } from './role.js';
import { type CreateUserBody, type UpdateUserBody, USERS } from './users.resource.js';

export class CreateUser extends CreateCommand<CreateUserBody> {}
export class UpdateUser extends UpdateCommand<UpdateUserBody> {}
export class DeleteUser extends DeleteCommand {}

@CommandHandler(CreateUser)
class CreateUserHandler implements ICommandHandler<CreateUser> {
  constructor(private readonly principals: Principals) {}

  execute({ context, body }: CreateUser) {
    return this.principals.create(USERS, context, () => createUser(parseUser(body)));
  }
}

@CommandHandler(UpdateUser)
class UpdateUserHandler implements ICommandHandler<UpdateUser> {
  constructor(private readonly principals: Principals) {}

  execute({ context, id, body }: UpdateUser) {
    return this.principals.apply(USERS, context, id, (user) => updateUser(user, parseChanges(body)), body);
  }
}

@CommandHandler(DeleteUser)
class DeleteUserHandler implements ICommandHandler<DeleteUser> {
  constructor(private readonly principals: Principals) {}

  execute({ context, id }: DeleteUser) {
    return this.principals.apply(USERS, context, id, remove);
  }
}

/** Throws Problem. */
const parseUser = ({ email, role }: CreateUserBody) => ({
  email: parseEmail(email),
  role: givenRole(role) ?? 'member',
});

/** The fields that a change gives. Throws Problem. */
const parseChanges = ({ role, active }: UpdateUserBody) => omitUndefined({ role: givenRole(role), active });

function parseEmail(email: string | undefined): string {
  if (email !== undefined && isEmailAddress(email)) return email;
  throw malformed('email must be an email address of ASCII characters.');
}

/** Some official clients send an empty role if their user sets none. */
const givenRole = (role: string | undefined): Role | undefined =>
  role === undefined || role === '' ? undefined : parseRole(role);

export const USER_HANDLERS = [CreateUserHandler, UpdateUserHandler, DeleteUserHandler];
