import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { isEmail } from 'class-validator';
import type { RequestContext } from '../../http/request-context.js';
import type { Entity } from '../../log/read-model.js';
import { Problem } from '../../problem.js';
import type { Changed } from '../../resources/changes.js';
import { Users } from '../access.queries.js';
import { createUser, type Principal, updateUser } from './principal.js';
import { checked, Principals } from './principals.js';

export class CreateUser {
  constructor(
    readonly context: RequestContext,
    readonly input: { readonly email?: string; readonly role?: string },
  ) {}
}

@CommandHandler(CreateUser)
export class CreateUserHandler implements ICommandHandler<CreateUser> {
  constructor(private readonly principals: Principals) {}

  async execute({ context, input }: CreateUser): Promise<Changed<Principal>> {
    const user = { email: parseEmail(input.email), role: parseRole(input.role) ?? 'member' };
    return this.principals.create(context, 'usr', createUser(user));
  }
}

export class UpdateUser {
  constructor(
    readonly context: RequestContext,
    readonly id: string,
    readonly input: { readonly role?: string; readonly active?: boolean },
    /** Refuses what cannot be changed; asked with the user as it is. */
    readonly check: (user: Entity<Principal> | undefined) => void,
  ) {}
}

@CommandHandler(UpdateUser)
export class UpdateUserHandler implements ICommandHandler<UpdateUser> {
  constructor(
    private readonly principals: Principals,
    private readonly users: Users,
  ) {}

  async execute({ context, id, input, check }: UpdateUser): Promise<Changed<Principal>> {
    const role = parseRole(input.role);
    const { active } = input;
    const change = updateUser({ ...(role !== undefined && { role }), ...(active !== undefined && { active }) });
    return this.principals.change(context, id, checked(this.users, context, id, check), change);
  }
}

function parseEmail(email: string | undefined): string {
  // ASCII only, so that upper and lower case mean the same here and in every database.
  if (email !== undefined && isEmail(email, { allow_utf8_local_part: false })) return email;
  throw new Problem('request_malformed', 'email must be an email address of ASCII characters.');
}

function parseRole(role: string | undefined): 'admin' | 'member' | undefined {
  if (role === undefined || role === '') return undefined;
  if (role === 'admin' || role === 'member') return role;
  throw new Problem('request_malformed', `role must be admin or member, not '${role.slice(0, 64)}'.`);
}
