import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { Role } from '../../caller.js';
import { omitUndefined } from '../../omit-undefined.js';
import { Problem, quoted } from '../../problem.js';
import { isEmailAddress } from './email.js';
import { createUser, remove, updateUser } from './principal.js';
import { Principals } from './principals.js';
import { CreateUser, DeleteUser, UpdateUser, USERS } from './users.resource.js';

@CommandHandler(CreateUser)
export class CreateUserHandler implements ICommandHandler<CreateUser> {
  constructor(private readonly principals: Principals) {}

  execute({ context, body }: CreateUser) {
    const { email, role } = body;
    return this.principals.create(USERS, context, () =>
      createUser({ email: parseEmail(email), role: parseRole(role) ?? 'member' }),
    );
  }
}

@CommandHandler(UpdateUser)
export class UpdateUserHandler implements ICommandHandler<UpdateUser> {
  constructor(private readonly principals: Principals) {}

  execute({ context, id, body }: UpdateUser) {
    const { role, active } = body;
    const decide = () => updateUser(omitUndefined({ role: parseRole(role), active }));
    return this.principals.apply(USERS, context, id, decide, body);
  }
}

@CommandHandler(DeleteUser)
export class DeleteUserHandler implements ICommandHandler<DeleteUser> {
  constructor(private readonly principals: Principals) {}

  execute({ context, id }: DeleteUser) {
    return this.principals.apply(USERS, context, id, () => remove);
  }
}

function parseEmail(email: string | undefined): string {
  if (email !== undefined && isEmailAddress(email)) return email;
  throw new Problem('request_malformed', 'email must be an email address of ASCII characters.');
}

function parseRole(role: string | undefined): Role | undefined {
  if (role === undefined || role === '') return undefined;
  if (role === 'admin' || role === 'member') return role;
  throw new Problem('request_malformed', `role must be admin or member, not ${quoted(role)}.`);
}
