import type { Role } from '../../../kernel/caller.js';
import { omitUndefined } from '../../../kernel/omit-undefined.js';
import { malformed } from '../../../kernel/problem.js';
import { handlerOf } from '../../resources/handler-of.js';
import { isEmailAddress } from './email.js';
import { createUser, remove, updateUser } from './principal.js';
import { Principals } from './principals.js';
import { parseRole } from './role.js';
import { CreateUser, DeleteUser, UpdateUser, USERS } from './users.resource.js';

export const USER_HANDLERS = [
  handlerOf(CreateUser, [Principals], ({ context, body: { email, role } }, principals) =>
    principals.create(USERS, context, () =>
      createUser({ email: parseEmail(email), role: givenRole(role) ?? 'member' }),
    ),
  ),
  handlerOf(UpdateUser, [Principals], ({ context, id, body }, principals) => {
    const decide = () => updateUser(omitUndefined({ role: givenRole(body.role), active: body.active }));
    return principals.apply(USERS, context, id, decide, body);
  }),
  handlerOf(DeleteUser, [Principals], ({ context, id }, principals) =>
    principals.apply(USERS, context, id, () => remove),
  ),
];

function parseEmail(email: string | undefined): string {
  if (email !== undefined && isEmailAddress(email)) return email;
  throw malformed('email must be an email address of ASCII characters.');
}

/** Clients of other languages send an empty role for one that they do not set. */
const givenRole = (role: string | undefined): Role | undefined =>
  role === undefined || role === '' ? undefined : parseRole(role);
