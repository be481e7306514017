import { type BindTarget, type CompiledAcl, permits, ruleFor } from '../../../rules/index.js';
import { RESERVATION_REASONS, type RefusalOf } from '../../reservations/reservation.js';

/** A credential of a key, on the account that the key belongs to. It may not be live. */
export interface CredentialGrant {
  readonly accountId: string;
  readonly credentialId: string;
  readonly ownerId: string;
  readonly version: number;
  /** False if the owner is deactivated or deleted. An owner that the account does not know is active. */
  readonly isOwnerActive: boolean;
  /** By the database's clock, when the grant was read. */
  readonly isExpired: boolean;
}

/** A grant with its rules. Its owner is active, and it has not expired. */
export interface LiveGrant extends CredentialGrant {
  readonly acl: CompiledAcl;
  /** In how many milliseconds it expires, by the database's clock when it was read; null: never. */
  readonly expiresInMs: number | null;
}

interface SourceChecked {
  /** Whether the tunnel comes from where the credential may be used. */
  readonly isSourceAllowed: boolean;
}

export const REASONS = [
  'permitted',
  'unknown_key',
  'owner_inactive',
  'expired',
  ...RESERVATION_REASONS,
  'source_not_allowed',
  'not_permitted',
] as const;
export type Reason = (typeof REASONS)[number];

/** The decision about one bind. */
export interface BindDecision {
  readonly allowed: boolean;
  readonly reason: Reason;
  /** The rule that permits, as written; null if no rule does, or if the credential permits everything without rules. */
  readonly matchedRule: string | null;
  /** Index of that rule in the ACL of the grant. */
  readonly ruleIndex: number | null;
  /** The rule that would permit; null unless only a rule is missing. */
  readonly needs: string | null;
  /** The grant that permits; otherwise the oldest one that was considered. Undefined if the key is unknown. */
  readonly grant: CredentialGrant | undefined;
  /** In how many milliseconds the last grant that permits expires; null: never, or none permits. */
  readonly expiresInMs: number | null;
}

/**
 * Decides whether a key may bind a target. The key may do what any of its live grants permits, unless the target is
 * reserved for others. `live` are the live ones of `grants`; both lists are oldest first.
 */
export function bindDecider(
  grants: readonly CredentialGrant[],
  live: readonly (LiveGrant & SourceChecked)[],
  refusalOf: RefusalOf,
): (target: BindTarget) => BindDecision {
  const [oldest] = grants;
  // A deleted credential leaves no grant, so its key is as unknown as one that never was.
  if (oldest === undefined) return () => refusal('unknown_key', undefined);
  if (live.length === 0) return () => refusalWithoutLive(grants, oldest);
  const here = live.filter(({ isSourceAllowed }) => isSourceAllowed);
  const elsewhere = live.filter(({ isSourceAllowed }) => !isSourceAllowed);
  const ids = live.map(({ credentialId }) => credentialId);
  return (target) => {
    const reserved = refusalOf(oldest.accountId, target, ids);
    if (reserved !== undefined) return refusal(reserved, here[0] ?? elsewhere[0]);
    return permission(here, target) ?? refusalOfLive(here, elsewhere, target);
  };
}

/** The oldest grant that permits is named. The right lasts until the last one has expired. */
function permission(here: readonly LiveGrant[], target: BindTarget): BindDecision | undefined {
  let found: BindDecision | undefined;
  for (const grant of here) {
    const { permitted, matchedRule, ruleIndex } = permits(grant.acl, target);
    if (!permitted) continue;
    const { expiresInMs } = grant;
    found ??= { allowed: true, reason: 'permitted', matchedRule, ruleIndex, needs: null, grant, expiresInMs };
    if (expiresInMs === null) return { ...found, expiresInMs };
    found = { ...found, expiresInMs: Math.max(found.expiresInMs ?? 0, expiresInMs) };
  }
  return found;
}

function refusalOfLive(here: readonly LiveGrant[], elsewhere: readonly LiveGrant[], target: BindTarget): BindDecision {
  const permitting = elsewhere.find(({ acl }) => permits(acl, target).permitted);
  if (here.length > 0 && permitting === undefined) return refusal('not_permitted', here[0], ruleFor(target));
  return refusal('source_not_allowed', permitting ?? elsewhere[0]);
}

/** `expired` only if there is an active owner: its grant would be live, if it had not expired. */
function refusalWithoutLive(grants: readonly CredentialGrant[], oldest: CredentialGrant): BindDecision {
  const expired = grants.find(({ isOwnerActive }) => isOwnerActive);
  return expired === undefined ? refusal('owner_inactive', oldest) : refusal('expired', expired);
}

export const refusal = (
  reason: Reason,
  grant: CredentialGrant | undefined,
  needs: string | null = null,
): BindDecision => ({
  allowed: false,
  reason,
  matchedRule: null,
  ruleIndex: null,
  needs,
  grant,
  expiresInMs: null,
});
