import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL } from '../../../database/index.js';
import type { Gateway } from '../../../kernel/caller.js';
import { IdSource } from '../../../kernel/ids.js';
import type { BindTarget } from '../../../rules/index.js';
import { ReservationPolicy } from '../../reservations/address-pools.js';
import { ReservedForSshd } from '../../reservations/reserved-for-sshd.js';
import { ReservedNames } from '../../reservations/reserved-names.js';
import { CredentialUsage } from '../../ssh-credentials/credential-usage.js';
import { BindDecisionMetrics } from '../decision-record/bind-decision-metrics.js';
import { BindDecisionQueue } from '../decision-record/bind-decision-queue.js';
import { type BindDecision, bindDecider } from '../decisions/bind-decision.js';
import { CredentialGrants } from '../decisions/credential-grants.js';
import { GatewayPolicy } from '../decisions/gateway-policy.js';
import { KeyAccess } from '../decisions/key-access.js';
import { SourceCheck } from '../decisions/source-check.js';
import { authorizedKeys, hostsOf } from './authorized-keys.js';
import type { IdentifiedKey, RecheckAnswer } from './binds.resource.js';
import type { Held } from './gateway-requests.js';
import { changedSince } from './recheck.js';
import { ReservationChanges } from './reservation-changes.js';

/** Where a request comes from, for the record. */
interface RequestOrigin {
  /** Address of the gateway. */
  readonly address: string;
  /** Where the tunnel comes from, if the gateway sent it. */
  readonly source: string | undefined;
  /** The gateway has these permissions already: only refusals are recorded. */
  readonly isRepeated: boolean;
}

/**
 * Answers a gateway, over all accounts or over the one that it serves: what belongs to another account is unknown. Only
 * compiled rules and networks are cached; all else is read after the request arrived.
 */
@Injectable()
export class GatewayAnswers {
  private readonly deniedFingerprints: ReadonlySet<string>;
  private readonly grants: CredentialGrants;
  private readonly keyAccess: KeyAccess;
  private readonly sources = new SourceCheck();
  private readonly usage: CredentialUsage;
  private readonly reservationChanges: ReservationChanges;

  constructor(
    @Inject(POOL) private readonly pool: Pool,
    { deniedFingerprints }: GatewayPolicy,
    private readonly ids: IdSource,
    private readonly queue: BindDecisionQueue,
    private readonly metrics: BindDecisionMetrics,
    private readonly reserved: ReservedNames,
    private readonly forSshd: ReservedForSshd,
    private readonly names: ReservationPolicy,
  ) {
    this.deniedFingerprints = deniedFingerprints;
    this.grants = new CredentialGrants(pool, deniedFingerprints);
    this.keyAccess = new KeyAccess(this.grants);
    this.usage = new CredentialUsage(pool);
    this.reservationChanges = new ReservationChanges(pool, reserved.settings);
  }

  /** Undefined if the key has no live credential. */
  async identify(gateway: Gateway, fingerprint: string): Promise<IdentifiedKey | undefined> {
    const grants = await this.grants.liveOfKey(gateway, fingerprint);
    const [first] = grants;
    if (first === undefined) return undefined;
    const credentials = grants.map(async ({ accountId, credentialId, ownerId, version }) => ({
      credential_id: credentialId,
      owner_id: ownerId,
      version,
      last_used_at: await this.usage.lastUsedAt({ accountId, id: credentialId }),
    }));
    const tunnel_domain = this.names.tunnelDomain?.url ?? null;
    return { account_id: first.accountId, fingerprint, credentials: await Promise.all(credentials), tunnel_domain };
  }

  /** One decision for each target. Throws Problem 503 if they cannot be queued: then no tunnel may open. */
  async authorize(
    gateway: Gateway,
    fingerprint: string,
    targets: readonly BindTarget[],
    { address, source, isRepeated }: RequestOrigin,
  ): Promise<readonly BindDecision[]> {
    const stopTimer = this.metrics.startTimer();
    const [key, reserved] = await Promise.all([
      this.keyAccess.ofKey(gateway, fingerprint),
      this.reserved.read(targets),
    ]);
    // There is no wait from here on, since a credential could be deleted meanwhile: see KeyAccess.
    const decide = bindDecider(key.grants, this.sources.withSourceChecks(key.live, source), reserved.refusalOf);
    const decided = targets.map((target) => ({ target, decision: decide(target) }));
    const decidedAt = this.ids.now();
    const common = {
      decidedAt,
      fingerprint,
      gateway: address,
      gatewayName: gateway.name,
      gatewayAccount: gateway.accountId,
      source,
      logPosition: key.logPosition,
      readAt: key.readAt,
      isKeyDenied: this.deniedFingerprints.has(fingerprint),
    };
    const recorded = isRepeated ? decided.filter(({ decision }) => !decision.allowed) : decided;
    this.queue.add(
      recorded.map(({ target, decision }) => ({ ...common, target, decision, id: this.ids.next('bd', decidedAt) })),
    );
    const decisions = decided.map(({ decision }) => decision);
    stopTimer(decisions, gateway);
    return decisions;
  }

  async recheck(gateway: Gateway, { credentials, reservations: known }: Held): Promise<RecheckAnswer> {
    // This moment comes first: what changes during the second read is told by the next recheck, or by the stream.
    const { reservations, isChanged } = await this.reservationChanges.since(known);
    const changed = await changedSince(this.pool, gateway, credentials, this.deniedFingerprints);
    return { changed, reservations, reservations_changed: isChanged };
  }

  /** The lines for sshd; undefined if the key has another type, or no live credential. */
  async authorizedKeys(gateway: Gateway, keyType: string, fingerprint: string): Promise<string | undefined> {
    const key = await this.grants.keyOf(fingerprint);
    if (key?.keyType !== keyType) return undefined;
    const { live } = await this.keyAccess.ofKey(gateway, fingerprint);
    const [owner] = live;
    const [first, ...others] = live.map(({ credentialId: id, acl, ...grant }) => ({
      ...grant,
      ...key,
      id,
      acl: acl.rules,
    }));
    if (first === undefined || owner === undefined) return undefined;
    const credentials = [first, ...others] as const;
    return authorizedKeys(credentials, await this.forSshd.narrowing(owner.accountId, hostsOf(credentials)));
  }
}
