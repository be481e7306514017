import { type CompiledAcl, permits } from '../../bind-rules/acl.js';
import type { BindTarget } from '../../bind-rules/bind-target.js';

/** A live credential of a key, on the account that the key belongs to. */
export interface CredentialGrant {
  readonly accountId: string;
  readonly credentialId: string;
  readonly ownerId: string;
  readonly version: number;
  /** False if the owner is deactivated or deleted. An owner that the account does not know is active. */
  readonly isOwnerActive: boolean;
}

/** A grant of an active owner, with its rules. */
export interface CompiledCredentialGrant extends CredentialGrant {
  readonly acl: CompiledAcl;
}

export const REASONS = ['permitted', 'unknown_key', 'owner_inactive', 'not_permitted'] as const;
export type Reason = (typeof REASONS)[number];

/** The decision about one bind. */
export interface BindDecision {
  readonly allowed: boolean;
  readonly reason: Reason;
  /** The rule that permits, as written; null if no rule does, or if the credential permits everything without rules. */
  readonly matchedRule: string | null;
  /** The grant that permits; otherwise the oldest one that was considered. Undefined if the key is unknown. */
  readonly grant: CredentialGrant | undefined;
}

/**
 * Whether a key may bind `target`. The key may do what any of its grants permits. `active` are those of `grants` that
 * have an active owner, compiled; both lists are oldest first.
 */
export function decideBind(
  grants: readonly CredentialGrant[],
  active: readonly CompiledCredentialGrant[],
  target: BindTarget,
): BindDecision {
  const [oldest] = grants;
  if (oldest === undefined) return refusal('unknown_key', undefined);
  if (active.length === 0) return refusal('owner_inactive', oldest);
  for (const grant of active) {
    const { permitted, matchedRule } = permits(grant.acl, target);
    if (permitted) return { allowed: true, reason: 'permitted', matchedRule, grant };
  }
  return refusal('not_permitted', active[0]);
}

const refusal = (reason: Reason, grant: CredentialGrant | undefined): BindDecision => ({
  allowed: false,
  reason,
  matchedRule: null,
  grant,
});
