import type { Role } from '../../../kernel/caller.js';
import { malformed, quoted } from '../../../kernel/problem.js';

/** The roles of users and bots, for the documentation. */
export const ROLE = {
  description:
    'Admins manage users and bots, and the resources of every owner. Auditors read everything and change nothing.',
  enum: ['admin', 'member', 'auditor'],
};

export function parseRole(role: string | undefined): Role {
  if (role === undefined) throw malformed('role is missing; send admin, member or auditor.');
  if (role === 'admin' || role === 'member' || role === 'auditor') return role;
  throw malformed(`role must be admin, member or auditor, not ${quoted(role)}.`);
}
