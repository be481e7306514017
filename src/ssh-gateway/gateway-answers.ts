import type { Pool } from 'pg';
import type { BindTarget } from '../bind-rules/acl.js';
import type { IdSource } from '../ids.js';
import { TcpEdges } from '../tcp-edges/tcp-edges.read-model.js';
import { toResource } from '../tcp-edges/tcp-edges.resource.js';
import { authorizedKeysLine } from './authorized-keys.js';
import type { BindDecisionQueue } from './bind-decisions/bind-decision-queue.js';
import { CredentialUsage } from './bind-decisions/credential-usage.js';
import { type Decision, decide } from './bind-decisions/decision.js';
import type { GatewayMetrics } from './gateway-metrics.js';
import { Grants } from './grants.js';
import { KeysRights } from './key-access.js';
import type { KnownCredential } from './question.js';
import { changedSince } from './recheck.js';
import type { ChangedCredential, IdentifiedKey, ListedEdge } from './ssh-gateway.resource.js';

/** Who asks, to be recorded: the gateway's address, and the address of its client where it tells. */
export interface Asker {
  readonly gateway: string;
  readonly source: string | undefined;
}

/** What gateways are answered, over all accounts. Everything is read after the question came; only compiled rules are kept. */
export class GatewayAnswers {
  private readonly grants: Grants;
  private readonly rights: KeysRights;
  private readonly edges: TcpEdges;
  private readonly usage: CredentialUsage;

  constructor(
    private readonly pool: Pool,
    private readonly deniedFingerprints: ReadonlySet<string>,
    private readonly ids: IdSource,
    private readonly decisions: BindDecisionQueue,
    private readonly metrics: GatewayMetrics,
  ) {
    this.grants = new Grants(pool, deniedFingerprints);
    this.rights = new KeysRights(this.grants);
    this.edges = new TcpEdges(pool);
    this.usage = new CredentialUsage(pool);
  }

  /** Undefined: no credential lets this key in. */
  async identify(fingerprint: string): Promise<IdentifiedKey | undefined> {
    const grants = await this.grants.withActiveOwner(fingerprint);
    const [first] = grants;
    if (first === undefined) return undefined;
    const credentials = grants.map(async ({ accountId, credentialId, ownerId, version }) => ({
      credential_id: credentialId,
      owner_id: ownerId,
      version,
      last_used_at: await this.usage.lastUsedAt({ accountId, id: credentialId }),
    }));
    return { account_id: first.accountId, fingerprint, credentials: await Promise.all(credentials) };
  }

  /** One decision for each target. Throws Problem 503 when they cannot be recorded: then nothing is allowed. */
  async authorize(fingerprint: string, targets: readonly BindTarget[], asker: Asker): Promise<readonly Decision[]> {
    const stop = this.metrics.startDecision();
    // Nothing waits from here on: see KeysRights.
    const { grants, active } = await this.rights.ofKey(fingerprint);
    const decidedAt = this.ids.now();
    const decided = targets.map((target) => ({
      id: this.ids.next('bd', decidedAt),
      decidedAt,
      fingerprint,
      target,
      decision: decide(grants, active, target),
      ...asker,
    }));
    this.decisions.add(decided);
    const decisions = decided.map(({ decision }) => decision);
    stop(decisions);
    return decisions;
  }

  changedSince(known: readonly KnownCredential[]): Promise<ChangedCredential[]> {
    return changedSince(this.pool, known, this.deniedFingerprints);
  }

  /** The line for sshd; undefined when the key is unknown, is of another type, or has no active owner. */
  async authorizedKeysLine(keyType: string, fingerprint: string): Promise<string | undefined> {
    const key = await this.grants.keyOf(fingerprint);
    if (key?.keyType !== keyType) return undefined;
    const { active } = await this.rights.ofKey(fingerprint);
    const [first, ...others] = active.map(({ credentialId: id, version, acl }) => ({
      id,
      version,
      ...key,
      acl: acl.rules,
    }));
    return first === undefined ? undefined : authorizedKeysLine([first, ...others]);
  }

  async edgesAt(hostport: string, baseUrl: string): Promise<ListedEdge[]> {
    const refs = await this.edges.listByHostport(hostport);
    const found = await Promise.all(refs.map((ref) => this.edges.find(ref)));
    return found.flatMap((edge) =>
      edge === undefined ? [] : [{ account_id: edge.accountId, edge: toResource(edge, baseUrl) }],
    );
  }
}
