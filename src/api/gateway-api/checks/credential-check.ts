import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL, type Ref } from '../../../database/index.js';
import type { Entity, Past } from '../../../event-log/index.js';
import { eventLoop } from '../../../kernel/event-loop.js';
import { type BindTarget, compile } from '../../../rules/index.js';
import { principalsReadModel } from '../../access/accounts/principals.read-model.js';
import type { RefusalOf } from '../../reservations/reservation.js';
import { ReservedNames } from '../../reservations/reserved-names.js';
import type { SshCredential } from '../../ssh-credentials/ssh-credential.js';
import { type BindDecision, bindDecider, type CredentialGrant, refusal } from '../decisions/bind-decision.js';
import { CredentialGrants, liveGrants } from '../decisions/credential-grants.js';
import { GatewayPolicy } from '../decisions/gateway-policy.js';
import { KeyAccess } from '../decisions/key-access.js';
import { SourceCheck } from '../decisions/source-check.js';

/** What a credential says. `sources`: null or absent: from anywhere. */
interface Rules {
  readonly acl: readonly string[];
  readonly sources: readonly string[] | null | undefined;
}

/**
 * What a gateway would decide, if the key had this credential alone. It decides as GatewayAnswers does, and records
 * nothing. It has caches of its own, so that no caller can evict what gateways need.
 */
@Injectable()
export class CredentialCheck {
  private readonly grants: CredentialGrants;
  private readonly keyAccess: KeyAccess;
  private readonly sources = new SourceCheck();

  constructor(
    @Inject(POOL) pool: Pool,
    { deniedFingerprints }: GatewayPolicy,
    private readonly reserved: ReservedNames,
  ) {
    this.grants = new CredentialGrants(pool, deniedFingerprints);
    this.keyAccess = new KeyAccess(this.grants);
  }

  /** `fingerprint`: the fingerprint of the credential's key. */
  async decide(
    { accountId, id }: Ref,
    fingerprint: string,
    targets: readonly BindTarget[],
    source: string | undefined,
  ): Promise<readonly BindDecision[]> {
    // To a gateway of the account, a key of another account is unknown.
    const { refusalOf } = await this.reserved.read(targets);
    const { grants, live } = await this.keyAccess.ofKey({ accountId }, fingerprint);
    const isOwn = ({ credentialId }: CredentialGrant): boolean => credentialId === id;
    const ownLive = this.sources.withSourceChecks(live.filter(isOwn), source);
    const isAccounts = grants.some((grant) => grant.accountId === accountId);
    // The grants of a key leave out most credentials that are not live.
    const own = isAccounts ? [await this.grants.ofCredential({ accountId, id })].flatMap((grant) => grant ?? []) : [];
    const isBeyondLimits = ownLive.length === 0 && liveGrants(own).length > 0;
    const decide = bindDecider(own, ownLive, refusalOf);
    return eventLoop.run([accountId], () => targets.map((one) => (isBeyondLimits ? BEYOND_LIMITS : decide(one))));
  }

  /** The same as of a moment, from the log of its account. It counts no other credential of the key. */
  async decidePast(
    past: Past,
    credential: Entity<SshCredential>,
    targets: readonly BindTarget[],
    source: string | undefined,
  ): Promise<readonly BindDecision[]> {
    const { account_id: accountId, owner_id: ownerId, id: credentialId, version, acl, expires_at } = credential;
    const { refusalOf } = await this.reserved.readPast(past, targets);
    const isExpired = expires_at != null && expires_at.getTime() <= past.moment.timeMs;
    const isOwnerActive = await wasActive(past, ownerId);
    const grants = [{ accountId, credentialId, ownerId, version, isExpired, isOwnerActive }];
    const rules = { acl, sources: credential.source_cidrs };
    return eventLoop.run([accountId], () => targets.map(this.decider(grants, rules, source, refusalOf)));
  }

  /** The same for rules and networks that no credential has yet. Throws Problem. */
  async decideRules(
    accountId: string,
    rules: Rules,
    targets: readonly BindTarget[],
    source: string | undefined,
  ): Promise<readonly BindDecision[]> {
    const { refusalOf } = await this.reserved.read(targets);
    const grant = { accountId, credentialId: '', ownerId: '', version: 1, isExpired: false, isOwnerActive: true };
    // No credential has these rules yet, so a given name below TUNNEL_DOMAIN may still be its own.
    const ofNobody: RefusalOf = (account, target) => refusalOf(account, target);
    return eventLoop.run([accountId], () => targets.map(this.decider([grant], rules, source, ofNobody)));
  }

  private decider(
    grants: readonly CredentialGrant[],
    { acl, sources }: Rules,
    source: string | undefined,
    refusalOf: RefusalOf,
  ): (target: BindTarget) => BindDecision {
    const more = { acl: compile(acl), expiresInMs: null, sources: sources?.join(',') ?? null };
    const live = liveGrants(grants).map((grant) => ({ ...grant, ...more }));
    return bindDecider(grants, this.sources.withSourceChecks(live, source), refusalOf);
  }
}

/** An owner that the account does not know is active. */
async function wasActive(past: Past, id: string): Promise<boolean> {
  if (!principalsReadModel.streamPrefixes.some((prefix) => id.startsWith(`${prefix}_`))) return true;
  const owner = await past.entity(principalsReadModel, id);
  return owner === undefined || (owner.active && !owner.deleted);
}

/** The credential is beyond the limits of its key, so it adds nothing to what the key may do. */
const BEYOND_LIMITS = refusal('not_permitted', undefined);
