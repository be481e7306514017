import type { CompiledAcl } from '../bind-rules/acl.js';
import { Problem } from '../problem.js';
import type { CompiledGrant } from './bind-decisions/decision.js';
import { CompiledAcls, keyOf, type StoredAcl } from './compiled-acls.js';
import { type FetchedAcl, type Grants, type StoredGrant, withActiveOwners } from './grants.js';

/** Of a key with more, the rules of its oldest credentials count that are no more together: else one account could stall everyone's answers. */
export const MAX_RULES_OF_A_KEY = 10_000;

/** Some hundred kilobytes of rules at a time. */
const ACLS_FETCHED_AT_ONCE = 10;
/** Of the grants, for one question: each time but the first something had to be fetched or compiled after the last one. */
const MAX_READS = 5;

/** What a decision about a key is made of. */
export interface KeyRights {
  /** Oldest first; empty for an unknown key. */
  readonly grants: readonly StoredGrant[];
  /** Those that count, ready to be asked. */
  readonly active: readonly CompiledGrant[];
}

/**
 * What a key may do, as the database says after the last wait: when an ACL had to be fetched or compiled, which takes time in
 * which the credential may be deleted, the grants are read once more, and only what they say then is answered.
 */
export class KeysRights {
  constructor(
    private readonly grants: Grants,
    private readonly acls = new CompiledAcls(),
  ) {}

  /** Throws Problem 503 when the rules change faster than they are read. */
  async ofKey(fingerprint: string): Promise<KeyRights> {
    // Of this question, so that what others compile meanwhile does not push it out.
    const known = new Map<string, CompiledAcl>();
    for (let read = 0; read < MAX_READS; read += 1) {
      const grants = await this.grants.ofKey(fingerprint);
      const { active, missing } = this.lookUp(grants, known);
      if (missing.length === 0) return { grants, active };
      await this.prepare(grants, known);
    }
    throw new Problem('overloaded', 'The rules of this key change faster than they can be read. Try again shortly.');
  }

  /** Does not wait, so that what is found is as the grants were read. */
  private lookUp(
    grants: readonly StoredGrant[],
    known: Map<string, CompiledAcl>,
  ): { readonly active: readonly CompiledGrant[]; readonly missing: readonly StoredGrant[] } {
    const [active, missing]: [CompiledGrant[], StoredGrant[]] = [[], []];
    let rules = 0;
    for (const grant of withActiveOwners(grants)) {
      const acl = known.get(keyOf(grant)) ?? this.kept(grant);
      if (acl === undefined) {
        missing.push(grant);
        continue;
      }
      known.set(keyOf(grant), acl);
      rules += acl.rules.length;
      if (rules > MAX_RULES_OF_A_KEY) break;
      active.push({ ...grant, acl });
    }
    return { active, missing };
  }

  private kept(grant: StoredGrant): CompiledAcl | undefined {
    const kept = this.acls.get(grant);
    if (kept !== undefined || grant.smallAcl === null) return kept;
    return this.acls.addAtOnce(grant, grant.smallAcl);
  }

  /** Compiles what these grants lack, from the oldest on, until nothing is missing or one of them is not there any more. */
  private async prepare(grants: readonly StoredGrant[], known: Map<string, CompiledAcl>): Promise<void> {
    for (;;) {
      const missing = this.lookUp(grants, known).missing.slice(0, ACLS_FETCHED_AT_ONCE);
      for (const acl of await this.rulesOf(missing)) known.set(keyOf(acl), await this.acls.addInTurn(acl, acl.rules));
      if (missing.length === 0 || missing.some((grant) => !known.has(keyOf(grant)))) return;
    }
  }

  private async rulesOf(missing: readonly StoredGrant[]): Promise<readonly FetchedAcl[]> {
    const small = missing.flatMap((grant) => (grant.smallAcl === null ? [] : [{ ...grant, rules: grant.smallAcl }]));
    const large: readonly StoredAcl[] = missing.filter(({ smallAcl }) => smallAcl === null);
    return large.length === 0 ? small : [...small, ...(await this.grants.aclsOf(large))];
  }
}
