import type { Role } from '../../caller.js';
import { omitUndefined } from '../../omit-undefined.js';
import { Problem, quoted } from '../../problem.js';
import { handlerOf } from '../../resources/handler-of.js';
import { isEmailAddress } from './email.js';
import { createUser, remove, updateUser } from './principal.js';
import { Principals } from './principals.js';
import { CreateUser, DeleteUser, UpdateUser, USERS } from './users.resource.js';

export const CreateUserHandler = handlerOf(CreateUser, Principals, (principals, { context, body }) => {
  const { email, role } = body;
  const decide = () => createUser({ email: parseEmail(email), role: parseRole(role) ?? 'member' });
  return principals.create(USERS, context, decide);
});

export const UpdateUserHandler = handlerOf(UpdateUser, Principals, (principals, { context, id, body }) => {
  const { role, active } = body;
  const decide = () => updateUser(omitUndefined({ role: parseRole(role), active }));
  return principals.apply(USERS, context, id, decide, body);
});

export const DeleteUserHandler = handlerOf(DeleteUser, Principals, (principals, { context, id }) =>
  principals.apply(USERS, context, id, () => remove),
);

function parseEmail(email: string | undefined): string {
  if (email !== undefined && isEmailAddress(email)) return email;
  throw new Problem('request_malformed', 'email must be an email address of ASCII characters.');
}

function parseRole(role: string | undefined): Role | undefined {
  if (role === undefined || role === '') return undefined;
  if (role === 'admin' || role === 'member' || role === 'auditor') return role;
  throw new Problem('request_malformed', `role must be admin, member or auditor, not ${quoted(role)}.`);
}
