import { Problem } from '../problem.js';

/** Fields that no caller can change are taken when they are as stored, so that a GET, edited, can be sent back as a PATCH. */
export function refuseOtherValue(field: string, given: string | undefined, stored: string): void {
  if (given === undefined || given === stored) return;
  throw new Problem('request_malformed', `${field} cannot be changed; leave it out, or send it as it is.`);
}

/** Of a uri only the path counts: one service may be reached by several names. */
export function refuseOtherPlace(
  sent: { readonly id?: string; readonly uri?: string },
  path: string,
  id: string,
): void {
  refuseOtherValue('id', sent.id, id);
  const place = `/${path}/${id}`;
  refuseOtherValue('uri', sent.uri?.slice(-place.length), place);
}

/** The same moment in another spelling is no other time. */
export function refuseOtherTime(given: string | undefined, entity: { readonly createdAt: Date } | undefined): void {
  if (given === undefined || entity === undefined || Date.parse(given) === entity.createdAt.getTime()) return;
  refuseOtherValue('created_at', given, entity.createdAt.toISOString());
}
