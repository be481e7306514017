import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../error-message.js';
import { OperatorError } from '../../operator-error.js';
import type { GatewayLog } from '../gateway-log.js';
import type { GatewayPart } from '../gateway-part.js';
import { ServiceUnavailable } from '../service/service-unavailable.js';
import type { Decision, ServiceClient, TargetBody } from '../service-client.js';

/** A bind that the service permitted, and what it was permitted by. */
export interface HeldRight {
  readonly fingerprint: string;
  readonly source: string;
  readonly question: TargetBody;
  credentialId: string;
  version: number;
  /** The right is gone, for this reason: closes the tunnel. */
  lose(reason: string): void;
}

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 1_000;
const MAX_TARGETS = 1_000;
const QUESTIONS_AT_ONCE = 8;
/** Answers that no repetition changes. */
const REFUSALS: readonly number[] = [401, 403, 404];

/**
 * Follows the changes of the service, and asks again about the open tunnels that they concern. While the service is away
 * the tunnels stay, for a time.
 */
export class LiveRights implements GatewayPart {
  private readonly held = new Set<HeldRight>();
  private readonly stopped = new AbortController();
  private readonly answered = new EventEmitter();
  private connection = new AbortController();
  private following = Promise.resolve();
  private outage: NodeJS.Timeout | undefined;
  /** Counts what was told, so that a right that was asked for meanwhile is asked for again. */
  told = 0;
  /** Without it no bind is permitted, since its end would not be told. */
  isFollowing = false;

  constructor(
    private readonly service: ServiceClient,
    private readonly log: GatewayLog,
    private readonly outageGraceMs: number,
  ) {}

  /** Waits for the first answer of the service. Throws OperatorError if it refuses the token. */
  async start(): Promise<void> {
    await this.service.recheck([]).catch(refuseWrongToken);
    this.following = this.keepFollowing();
    await once(this.answered, 'first');
  }

  async stop(): Promise<void> {
    clearTimeout(this.outage);
    this.stopped.abort();
    this.connection.abort();
    await this.following;
  }

  /** `toldBefore` is `told` of before the question. */
  hold(right: HeldRight, toldBefore: number): void {
    this.held.add(right);
    if (toldBefore !== this.told) void this.reviewSome([right]);
  }

  release(right: HeldRight): void {
    this.held.delete(right);
  }

  private async keepFollowing(): Promise<void> {
    const { signal } = this.stopped;
    let pauseMs = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      this.connection = new AbortController();
      const reason = await this.follow(this.connection.signal).catch((error) => error);
      pauseMs = this.isFollowing ? FIRST_PAUSE_MS : Math.min(2 * pauseMs, MAX_PAUSE_MS);
      if (!signal.aborted) this.lost(reason);
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  private async follow(signal: AbortSignal): Promise<void> {
    for await (const { name, data } of this.service.changes(signal)) {
      this.told += 1;
      if (name === 'ready') await this.recheckAll();
      // Not awaited: while the service answers, a later change can concern the same tunnel.
      if (name === 'changed') void this.reviewSome(this.heldBy((data as { credential_ids: string[] }).credential_ids));
    }
    throw new ServiceUnavailable('the stream of changes ended');
  }

  private heldBy(ids: readonly string[]): readonly HeldRight[] {
    const wanted = new Set(ids);
    return [...this.held].filter(({ credentialId }) => wanted.has(credentialId));
  }

  private async recheckAll(): Promise<void> {
    const known = [...this.held].map((held) => ({ credential_id: held.credentialId, version: held.version }));
    const unique = new Map(known.map((one) => [`${one.credential_id} ${one.version}`, one]));
    const changed = await this.service.recheck([...unique.values()]);
    await this.review(this.heldBy(changed.map(({ credential_id }) => credential_id)));
    this.log.line('info', { tunnels: this.held.size }, 'following the changes of the service');
    clearTimeout(this.outage);
    this.outage = undefined;
    this.isFollowing = true;
    this.answered.emit('first');
  }

  /** If the service cannot be asked, a new stream begins with a recheck, which finds what these missed. */
  private async reviewSome(rights: readonly HeldRight[]): Promise<void> {
    await this.review(rights).catch((error) => this.connection.abort(error));
  }

  private lost(error: unknown): void {
    if (this.outage === undefined) {
      const stay = `open tunnels stay for ${this.outageGraceMs} ms`;
      this.log.line(
        'warn',
        { tunnels: this.held.size },
        `no binds until the service is back, ${stay}: ${messageOf(error)}`,
      );
      this.outage = setTimeout(() => this.giveUp(), this.outageGraceMs).unref();
    }
    this.isFollowing = false;
    this.answered.emit('first');
  }

  private giveUp(): void {
    this.log.line('error', { tunnels: this.held.size }, 'the service was away for too long: closing all tunnels');
    const rights = [...this.held];
    this.held.clear();
    for (const right of rights) right.lose('service_unavailable');
  }

  /** Asks again about the targets, many of a key and source at once. */
  private async review(rights: readonly HeldRight[]): Promise<void> {
    const batches = batchesOf(rights);
    const next = async (): Promise<void> => {
      for (let batch = batches.pop(); batch !== undefined; batch = batches.pop()) await this.reviewBatch(batch);
    };
    await Promise.all(Array.from({ length: QUESTIONS_AT_ONCE }, next));
  }

  private async reviewBatch(batch: readonly HeldRight[]): Promise<void> {
    const [first] = batch;
    if (first === undefined) return;
    const targets = batch.map(({ question }) => question);
    const decisions = await this.service.authorize(first.fingerprint, targets, first.source);
    for (const [n, right] of batch.entries()) if (this.held.has(right)) this.apply(decisions[n], right);
  }

  private apply(decision: Decision | undefined, right: HeldRight): void {
    if (decision?.allowed !== true || decision.credential_id === null || decision.version === null) {
      this.held.delete(right);
      right.lose(decision?.reason ?? 'not_permitted');
      return;
    }
    right.credentialId = decision.credential_id;
    right.version = decision.version;
  }
}

/** A service that is away is no reason not to start. */
function refuseWrongToken(error: unknown): void {
  if (!(error instanceof ServiceUnavailable) || !REFUSALS.includes(error.status ?? 0)) return;
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
