import type { Role } from '../../caller.js';
import { omitUndefined } from '../../omit-undefined.js';
import { malformed, quoted } from '../../problem.js';
import { handlerOf } from '../../resources/handler-of.js';
import { isEmailAddress } from './email.js';
import { createUser, remove, updateUser } from './principal.js';
import { Principals } from './principals.js';
import { CreateUser, DeleteUser, UpdateUser, USERS } from './users.resource.js';

export const USER_HANDLERS = [
  handlerOf(CreateUser, [Principals], ({ context, body: { email, role } }, principals) =>
    principals.create(USERS, context, () =>
      createUser({ email: parseEmail(email), role: parseRole(role) ?? 'member' }),
    ),
  ),
  handlerOf(UpdateUser, [Principals], ({ context, id, body }, principals) => {
    const decide = () => updateUser(omitUndefined({ role: parseRole(body.role), active: body.active }));
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

function parseRole(role: string | undefined): Role | undefined {
  if (role === undefined || role === '') return undefined;
  if (role === 'admin' || role === 'member' || role === 'auditor') return role;
  throw malformed(`role must be admin, member or auditor, not ${quoted(role)}.`);
}
