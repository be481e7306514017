import type { Gateway } from '../../../kernel/caller.js';
import type { CompiledAcl } from '../../../rules/index.js';
import type { LiveGrant } from './bind-decision.js';
import { CompiledAcls } from './compiled-acls.js';
import { type CredentialGrants, type KeyRead, liveGrants, type StoredCredentialGrant } from './credential-grants.js';

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
  private readonly acls = new CompiledAcls();

  constructor(private readonly grants: Pick<CredentialGrants, 'ofKey' | 'withAclsOfKey'>) {}

  async ofKey(gateway: Gateway, fingerprint: string): Promise<KeyGrants> {
    const first = await this.grants.ofKey(gateway, fingerprint);
    const live = await this.live(first);
    if (live !== undefined) return { ...first, live };
    const second = await this.grants.withAclsOfKey(gateway, fingerprint, MAX_RULES_PER_KEY);
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
      if (rules > MAX_RULES_PER_KEY) return live;
      live.push({ ...grant, acl });
    }
    return live;
  }

  private async aclOf({ aclDigest, rules, accountId }: StoredCredentialGrant): Promise<CompiledAcl | undefined> {
    const cached = this.acls.get(aclDigest);
    return cached ?? (rules === null ? undefined : this.acls.add(aclDigest, rules, accountId));
  }
}
