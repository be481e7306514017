import type { Caller } from '../../kernel/caller.js';
import { isId } from '../../kernel/ids.js';
import { malformed, quoted } from '../../kernel/problem.js';
import { CREDENTIAL_ID, OWNER_ID } from '../gateway-api/decision-record/bind-decision-fields.js';
import { queryParameter } from '../http/openapi/parts.js';
import { lastOf } from '../http/pages.js';
import { readsEverything, requireWellFormedId } from '../resources/access-rules.js';
import type { WantedOpen } from './open-sessions.js';

/** The query parameters of both lists. */
export const FILTERS = [
  queryParameter('credential_id', 'Only those of this SSH credential.', {
    type: 'string',
    pattern: CREDENTIAL_ID.pattern,
    examples: [CREDENTIAL_ID.example],
  }),
  queryParameter('owner_id', 'Only those of the credentials of this owner.', {
    type: 'string',
    examples: [OWNER_ID.example],
  }),
];

/** The filters of a request, as parameters of the next page have them. Throws Problem. */
export function readFilters(query: Readonly<Record<string, unknown>>) {
  const credentialId = lastOf(query.credential_id);
  const ownerId = lastOf(query.owner_id);
  if (credentialId !== undefined && !isId(credentialId, 'sshcr')) {
    throw malformed(`credential_id ${quoted(credentialId)} is not the id of an SSH credential.`);
  }
  if (ownerId !== undefined) requireWellFormedId('owner_id', ownerId);
  return { credential_id: credentialId, owner_id: ownerId };
}

/** Undefined if the caller sees nothing of what they ask for: members see what is of their own credentials. */
export function wantedBy(caller: Caller, filters: ReturnType<typeof readFilters>): WantedOpen | undefined {
  const { credential_id: credentialId, owner_id: ownerId } = filters;
  if (readsEverything(caller)) return { credentialId, ownerId };
  const { principalId } = caller;
  return ownerId === undefined || ownerId === principalId ? { credentialId, ownerId: principalId } : undefined;
}
