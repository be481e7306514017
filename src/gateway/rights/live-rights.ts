import { Unavailable } from '../../kernel/network/unavailable.js';
import { OperatorError } from '../../kernel/operator-error.js';
import { PacedTask } from '../../kernel/paced-task.js';
import { OverlappingNames } from '../../rules/index.js';
import type { GatewayPart } from '../gateway-part.js';
import type { Decision, ServiceClient, TargetBody } from '../service-client.js';
import type { Stop } from '../sessions/open-sessions.js';
import { Expiries } from './expiries.js';
import { type Followed, Follower } from './follower.js';
import type { ServiceState } from './service-state.js';

/** A bind that the service permitted, and the credential that permitted it. */
export interface HeldRight {
  readonly accountId: string;
  readonly fingerprint: string;
  readonly source: string;
  readonly question: TargetBody;
  credentialId: string;
  version: number;
  expiresAt?: Decision['expiresAt'];
  /** Closes the tunnel, because the right is gone for this reason. `needs`: the rule that would give it back. */
  lose(reason: string, needs?: string | null): void;
}

/** What else the stream of changes concerns. */
interface Sessions {
  /** Stops may have been missed before this moment. */
  followed(): void;
  stopped(stops: readonly Stop[]): void;
}

const MAX_TARGETS = 1_000;
const QUESTIONS_AT_ONCE = 8;
/** HTTP statuses that a repetition does not change. */
const REFUSALS: readonly number[] = [401, 403, 404];

/** Follows the changes of credentials, and asks the service again about the open tunnels that they concern. */
export class LiveRights implements GatewayPart, Followed {
  private readonly held = new Set<HeldRight>();
  private readonly follower: Follower;
  /**
   * Grows with each change, also of reservations, with each recheck and loss of the service. If it grew while a right
   * was asked about, the right is asked about again.
   */
  changeCount = 0;
  /** The reservations up to which all that is held was asked about. */
  private reservations: string | undefined;
  /** Others, whose names this gateway may not know, can reserve something without a pause. */
  private readonly decidingAgain = new PacedTask(() => this.decideAgain([...this.held], true));
  private readonly expiries: Expiries<HeldRight>;

  constructor(
    private readonly service: ServiceClient,
    private readonly serviceState: ServiceState,
    private readonly sessions: Sessions,
  ) {
    this.follower = new Follower((...stream) => service.changes('changes', ...stream), this);
    this.expiries = new Expiries(this.held, serviceState, {
      ask: (rights) => this.decideAgain(rights, true).catch((error) => this.follower.fail(error)),
      drop: (right) => this.drop(right, 'expired'),
    });
    serviceState.on('closed', () => this.closeAll());
  }

  /** While this is false, no bind is permitted: the gateway would not hear when the right ends. */
  get isFollowing(): boolean {
    return this.serviceState.isFollowing;
  }

  /** Waits for the first answer of the service. Throws OperatorError if it refuses the token. */
  async start(): Promise<void> {
    await this.service.recheck([]).catch(refuseWrongToken);
    await this.follower.start();
  }

  async stop(): Promise<void> {
    await this.follower.stop();
    this.expiries.stop();
  }

  /**
   * `countBefore`: the `changeCount` before the question. False if the service is away, so that nobody watches the
   * right.
   */
  hold(right: HeldRight, countBefore: number): boolean {
    if (!this.isFollowing) return false;
    this.held.add(right);
    this.expiries.watch(right);
    if (countBefore !== this.changeCount) this.decideAgain([right]).catch((error) => this.follower.fail(error));
    return true;
  }

  release(right: HeldRight): void {
    this.held.delete(right);
  }

  async recheck(): Promise<void> {
    this.changeCount += 1;
    const known = [...this.held].map((held) => ({ credential_id: held.credentialId, version: held.version }));
    const unique = new Map(known.map((one) => [`${one.credential_id} ${one.version}`, one]));
    const answer = await this.service.recheck([...unique.values()], this.reservations);
    const changed = this.heldBy(answer.changed.map(({ credential_id }) => credential_id));
    await this.decideAgain(answer.reservationsChanged ? [...this.held] : changed);
    // If a question fails, the next recheck asks about the same reservations.
    this.reservations = answer.reservations;
  }

  async changed(data: unknown): Promise<void> {
    this.changeCount += 1;
    await this.decideAgain(this.heldBy((data as { readonly credential_ids: readonly string[] }).credential_ids));
  }

  async reserved(data: unknown): Promise<void> {
    this.changeCount += 1;
    const event = data as { readonly names: readonly string[]; readonly of_others?: boolean };
    if (event.of_others === true) return this.decidingAgain.request();
    const names = new OverlappingNames(event.names);
    await this.decideAgain(
      [...this.held].filter(({ question }) => namesOf(question).some((name) => names.overlap(name))),
    );
  }

  followed(): void {
    this.serviceState.followed('changes');
    this.sessions.followed();
  }

  stopped(data: unknown): void {
    this.sessions.stopped((data as { readonly sessions: readonly Stop[] }).sessions);
  }

  lost(reason: unknown): void {
    this.serviceState.lost('changes', reason);
  }

  private heldBy(ids: readonly string[]): readonly HeldRight[] {
    const wanted = new Set(ids);
    return [...this.held].filter(({ credentialId }) => wanted.has(credentialId));
  }

  private closeAll(): void {
    this.changeCount += 1;
    const rights = [...this.held];
    this.held.clear();
    for (const right of rights) right.lose('service_unavailable');
  }

  /**
   * Asks again about these rights. One question has all targets of a key and source. `isRepeated`: the service need not
   * record what it permits again.
   */
  private async decideAgain(rights: readonly HeldRight[], isRepeated = false): Promise<void> {
    const batches = batchesOf(rights);
    const next = async (): Promise<void> => {
      for (let batch = batches.pop(); batch !== undefined; batch = batches.pop())
        await this.decideBatchAgain(batch, isRepeated);
    };
    await Promise.all(Array.from({ length: QUESTIONS_AT_ONCE }, next));
  }

  private async decideBatchAgain(batch: readonly HeldRight[], isRepeated: boolean): Promise<void> {
    const [first] = batch;
    if (first === undefined) return;
    const targets = batch.map(({ question }) => question);
    const decisions = await this.service.authorize(first.fingerprint, targets, first.source, isRepeated);
    for (const [n, right] of batch.entries()) if (this.held.has(right)) this.apply(decisions[n], right);
  }

  /** A permission from another account does not count: it is another right, even if it is for the same key. */
  private apply(decision: Decision | undefined, right: HeldRight): void {
    const loss = lossIn(decision, right);
    if (loss !== undefined) this.drop(right, loss, decision?.needs);
    else if (typeof decision?.credential_id === 'string' && typeof decision.version === 'number') {
      right.credentialId = decision.credential_id;
      right.version = decision.version;
      right.expiresAt = decision.expiresAt;
      this.expiries.watch(right);
    }
  }

  private drop(right: HeldRight, reason: string, needs?: string | null): void {
    this.held.delete(right);
    right.lose(reason, needs);
  }
}

/** What a reservation can be of. Nobody can reserve a label. */
function namesOf(question: TargetBody): readonly string[] {
  if ('label' in question) return [];
  return 'domain' in question ? [question.domain] : [question.address, ...(question.aliases ?? [])];
}

/** Why the right is gone; undefined if it is not. */
function lossIn(decision: Decision | undefined, { accountId }: HeldRight): string | undefined {
  if (decision?.allowed !== true) return decision?.reason ?? 'not_permitted';
  if (decision.account_id !== accountId) return 'another_account';
  const isWhole = typeof decision.credential_id === 'string' && typeof decision.version === 'number';
  return isWhole ? undefined : 'not_permitted';
}

/** The gateway starts even if the service is away, but not with a wrong token. */
function refuseWrongToken(error: unknown): void {
  if (!(error instanceof Unavailable) || !REFUSALS.includes(error.answer?.status ?? 0)) return;
  throw new OperatorError(`${error.message}: set GATEWAY_TOKEN to one of the GATEWAY_TOKENS of the service`);
}

function batchesOf(rights: readonly HeldRight[]): HeldRight[][] {
  const byKey = new Map<string, HeldRight[]>();
  for (const right of rights) {
    const key = `${right.fingerprint} ${right.source}`;
    byKey.set(key, [...(byKey.get(key) ?? []), right]);
  }
  return [...byKey.values()].flatMap((all) =>
    Array.from({ length: Math.ceil(all.length / MAX_TARGETS) }, (_, n) =>
      all.slice(n * MAX_TARGETS, (n + 1) * MAX_TARGETS),
    ),
  );
}
