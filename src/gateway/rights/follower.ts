import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceUnavailable } from '../service/service-unavailable.js';
import type { ServiceClient } from '../service-client.js';
import type { Outage } from './outage.js';

/** What a stream of changes is followed for. What rejects makes the follower begin again. */
export interface Followed {
  /** Asks about everything that is held, since changes before this moment were not told. */
  recheck(): Promise<void>;
  changed(data: unknown): Promise<void>;
}

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 1_000;

/**
 * Follows one stream of changes until it is stopped. A break, a silence or a question without an answer begins it anew
 * with a recheck. The stream is read while questions are under way, so a slow answer is no silence.
 */
export class Follower {
  private readonly stopped = new AbortController();
  private attempt = new AbortController();
  private following = Promise.resolve();
  private wasFollowed = false;

  constructor(
    private readonly service: ServiceClient,
    private readonly path: 'changes' | 'edges/changes',
    private readonly outage: Outage,
    private readonly followed: Followed,
  ) {}

  /** Resolves once the stream is followed, or cannot be for now. */
  start(): Promise<void> {
    return new Promise((resolve) => {
      this.following = this.keepFollowing(resolve);
    });
  }

  async stop(): Promise<void> {
    this.stopped.abort();
    this.attempt.abort();
    await this.following;
  }

  /** Begins anew: something could not be asked. */
  fail(error: unknown): void {
    this.attempt.abort(error);
  }

  private async keepFollowing(began: () => void): Promise<void> {
    const { signal } = this.stopped;
    let pauseMs = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      this.wasFollowed = false;
      const reason = await this.follow(began).catch((error) => error);
      if (signal.aborted) return;
      this.outage.lost(this.path, reason);
      began();
      pauseMs = this.wasFollowed ? FIRST_PAUSE_MS : Math.min(2 * pauseMs, MAX_PAUSE_MS);
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Never resolves. Each attempt has a signal of its own, so that nothing of an old one is kept. */
  private async follow(began: () => void): Promise<never> {
    const attempt = new AbortController();
    this.attempt = attempt;
    const fail = (error: unknown): void => attempt.abort(error);
    const rechecked = (): void => {
      if (attempt.signal.aborted) return;
      this.wasFollowed = true;
      this.outage.followed(this.path);
      began();
    };
    try {
      for await (const { name, data } of this.service.changes(attempt.signal, this.path)) {
        if (name === 'ready') this.followed.recheck().then(rechecked).catch(fail);
        // Not awaited: while the service answers, a later change can concern the same.
        else this.followed.changed(data).catch(fail);
      }
    } catch (error) {
      throw attempt.signal.aborted ? attempt.signal.reason : error;
    } finally {
      attempt.abort();
    }
    throw new ServiceUnavailable('the stream of changes ended');
  }
}
