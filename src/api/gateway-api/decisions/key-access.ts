import type { Gateway } from '../../../kernel/caller.js';
import { Problem } from '../../../kernel/problem.js';
import type { BindTarget, CompiledAcl } from '../../../rules/index.js';
import type { Judge } from '../../reservations/reservation.js';
import { type BindDecision, bindDecider, type LiveGrant } from './bind-decision.js';
import { CompiledAcls } from './compiled-acls.js';
import {
  type CredentialGrants,
  type FetchedAcl,
  type KeyRead,
  liveGrants,
  type StoredCredentialGrant,
} from './credential-grants.js';
import type { SourceCheck } from './source-check.js';

/** A key has the rules of its oldest live credentials, up to this many: one account must not stall the others. */
export const MAX_RULES_PER_KEY = 10_000;

/** At most some hundred kilobytes of rules at once. */
const MAX_FETCHED_ACLS = 10;
/** How often one request reads the grants: after each fetch or compilation it must read them again. */
const MAX_READS = 5;

type StoredLiveGrant = StoredCredentialGrant & LiveGrant;

/** The grants of a key, from which a decision is made. */
export interface KeyGrants extends KeyRead {
  /** The live ones, oldest first. */
  readonly live: readonly StoredLiveGrant[];
}

/**
 * What a key may do, as the database says after the last wait. A credential may be deleted while its ACL is fetched or
 * compiled, so the grants are read again afterwards, and only the last read is used.
 */
export class KeyAccess {
  constructor(
    private readonly grants: Pick<CredentialGrants, 'ofKey' | 'aclsOf'>,
    private readonly acls = new CompiledAcls(),
  ) {}

  /** Throws Problem 503 if the rules change faster than they can be read. */
  async ofKey(gateway: Gateway, fingerprint: string): Promise<KeyGrants> {
    // This map is for this request only: ACLs compiled for other requests cannot evict its entries.
    const compiled = new Map<string, CompiledAcl>();
    for (let read = 0; read < MAX_READS; read += 1) {
      const key = await this.grants.ofKey(gateway, fingerprint);
      const { live, missing } = this.compileWhatFits(key.grants, compiled);
      if (missing.length === 0) return { ...key, live };
      await this.prepare(key.grants, compiled);
    }
    throw new Problem('overloaded', 'The rules of this key change faster than they can be read. Try again shortly.');
  }

  /**
   * The live grants with their ACLs, up to the maximum of rules. It compiles small ACLs as far as this turn of the
   * event loop has time; `missing` has the grants whose ACLs are not compiled yet. It does not wait, so `live` is as
   * current as the grants.
   */
  private compileWhatFits(
    grants: readonly StoredCredentialGrant[],
    compiled: Map<string, CompiledAcl>,
  ): { readonly live: readonly StoredLiveGrant[]; readonly missing: readonly StoredCredentialGrant[] } {
    const [live, missing]: [StoredLiveGrant[], StoredCredentialGrant[]] = [[], []];
    let rules = 0;
    for (const grant of liveGrants(grants)) {
      const acl = compiled.get(grant.aclDigest) ?? this.cachedOrSmall(grant);
      if (acl === undefined) {
        missing.push(grant);
        continue;
      }
      compiled.set(grant.aclDigest, acl);
      rules += acl.rules.length;
      if (rules > MAX_RULES_PER_KEY) break;
      live.push({ ...grant, acl });
    }
    return { live, missing };
  }

  private cachedOrSmall(grant: StoredCredentialGrant): CompiledAcl | undefined {
    const cached = this.acls.get(grant.aclDigest);
    if (cached !== undefined || grant.smallAcl === null) return cached;
    return this.acls.addAtOnce(grant.aclDigest, grant.smallAcl);
  }

  /** Compiles the missing ACLs from the oldest on, until all are compiled or one of their rows has changed. */
  private async prepare(grants: readonly StoredCredentialGrant[], compiled: Map<string, CompiledAcl>): Promise<void> {
    for (;;) {
      const missing = this.compileWhatFits(grants, compiled).missing.slice(0, MAX_FETCHED_ACLS);
      if (missing.length === 0) return;
      for (const { digest, rules } of await this.fetch(missing)) {
        compiled.set(digest, await this.acls.addInTurn(digest, rules));
      }
      if (missing.some((grant) => !compiled.has(grant.aclDigest))) return;
    }
  }

  private async fetch(missing: readonly StoredCredentialGrant[]): Promise<readonly FetchedAcl[]> {
    const small = missing.flatMap(({ smallAcl, aclDigest }) =>
      smallAcl === null ? [] : [{ digest: aclDigest, rules: smallAcl }],
    );
    const large = missing.filter(({ smallAcl }) => smallAcl === null);
    return large.length === 0 ? small : [...small, ...(await this.grants.aclsOf(large))];
  }
}

/**
 * Decides about targets of a key. `source`: where the tunnel comes from, if the gateway sent it. `judge`: whose the targets
 * are.
 */
export const deciderOf = (
  { grants, live }: Pick<KeyGrants, 'grants' | 'live'>,
  sources: SourceCheck,
  source: string | undefined,
  judge: Judge,
): ((target: BindTarget) => BindDecision) => bindDecider(grants, sources.withSourceChecks(live, source), judge);
