import type { Gateway } from '../../../kernel/caller.js';
import type { BindTarget, CompiledAcl } from '../../../rules/index.js';
import type { RefusalOf } from '../../reservations/reservation.js';
import { type BindDecision, bindDecider, type LiveGrant } from './bind-decision.js';
import { CompiledAcls } from './compiled-acls.js';
import { type CredentialGrants, type KeyRead, liveGrants, type StoredCredentialGrant } from './credential-grants.js';
import type { SourceCheck } from './source-check.js';

/** A key has the rules of its oldest live credentials, up to this many: two full ones, while one replaces the other. */
export const MAX_RULES_PER_KEY = 2_000;

type StoredLiveGrant = StoredCredentialGrant & LiveGrant;

/** The grants of a key, from which a decision is made. */
export interface KeyGrants extends KeyRead {
  /** The live ones, oldest first. */
  readonly live: readonly StoredLiveGrant[];
}

/** What a key may do. One read of the database decides: the second one, if the first one lacks an ACL. */
export class KeyAccess {
  constructor(
    private readonly grants: Pick<CredentialGrants, 'ofKey' | 'withAclsOfKey'>,
    private readonly acls = new CompiledAcls(),
    private readonly maxRules = MAX_RULES_PER_KEY,
  ) {}

  async ofKey(gateway: Gateway, fingerprint: string): Promise<KeyGrants> {
    const first = await this.grants.ofKey(gateway, fingerprint);
    const live = await this.live(first);
    if (live !== undefined) return { ...first, live };
    const second = await this.grants.withAclsOfKey(gateway, fingerprint, this.maxRules);
    return { ...second, live: (await this.live(second)) ?? [] };
  }

  /** The live grants with their ACLs, up to the maximum of rules. Undefined: an ACL is neither cached nor read. */
  private async live({ grants }: KeyRead): Promise<readonly StoredLiveGrant[] | undefined> {
    const live: StoredLiveGrant[] = [];
    let rules = 0;
    for (const grant of liveGrants(grants)) {
      const acl = await this.aclOf(grant);
      if (acl === undefined) return undefined;
      rules += acl.rules.length;
      if (rules > this.maxRules) return live;
      live.push({ ...grant, acl });
    }
    return live;
  }

  private async aclOf({ aclDigest, rules, accountId }: StoredCredentialGrant): Promise<CompiledAcl | undefined> {
    const cached = this.acls.get(aclDigest);
    return cached ?? (rules === null ? undefined : this.acls.add(aclDigest, rules, accountId));
  }
}

/**
 * Decides about targets of a key. `source`: where the tunnel comes from, if the gateway sent it. `refusalOf`: whose the targets
 * are.
 */
export const deciderOf = (
  { grants, live }: Pick<KeyGrants, 'grants' | 'live'>,
  sources: SourceCheck,
  source: string | undefined,
  refusalOf: RefusalOf,
): ((target: BindTarget) => BindDecision) => bindDecider(grants, sources.withSourceChecks(live, source), refusalOf);
