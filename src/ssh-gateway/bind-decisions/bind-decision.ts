import { type BindTarget, type CompiledAcl, permits } from '../../bind-rules/acl.js';

/** A live credential of the key that a question is about, on the account that the key belongs to. */
export interface Grant {
  readonly accountId: string;
  readonly credentialId: string;
  readonly ownerId: string;
  readonly version: number;
  /** False for an owner who is deactivated or deleted. An owner that the account does not know is active. */
  readonly isOwnerActive: boolean;
}

/** A grant that counts, with what it permits. */
export interface CompiledGrant extends Grant {
  readonly acl: CompiledAcl;
}

export const REASONS = ['permitted', 'unknown_key', 'owner_inactive', 'not_permitted'] as const;
export type Reason = (typeof REASONS)[number];

export interface Decision {
  readonly allowed: boolean;
  readonly reason: Reason;
  /** The rule that permits, as written; null when none does, and when the credential has no rules and permits everything. */
  readonly matchedRule: string | null;
  /** The credential that permits; else the oldest one that was asked. Undefined: the key is unknown. */
  readonly grant: Grant | undefined;
}

/**
 * Whether a key may bind `target`. Each of its credentials is a grant of its own, so the key may do what any of them
 * permits. `active` are the compiled ones among `grants`, those whose owners are active; both oldest first.
 */
export function decide(grants: readonly Grant[], active: readonly CompiledGrant[], target: BindTarget): Decision {
  const [oldest] = grants;
  if (oldest === undefined) return refusal('unknown_key', undefined);
  if (active.length === 0) return refusal('owner_inactive', oldest);
  for (const grant of active) {
    const { permitted, matchedRule } = permits(grant.acl, target);
    if (permitted) return { allowed: true, reason: 'permitted', matchedRule, grant };
  }
  return refusal('not_permitted', active[0]);
}

const refusal = (reason: Reason, grant: Grant | undefined): Decision => ({
  allowed: false,
  reason,
  matchedRule: null,
  grant,
});
