import { retry } from '../../kernel/network/retry.js';
import { Unavailable } from '../../kernel/network/unavailable.js';
import type { ServiceEvent } from '../event-stream.js';

/** What a stream of changes is followed for. What rejects makes the follower begin again. */
export interface Followed {
  /** Asks about everything that is held, since changes before this moment were not told. */
  recheck(): Promise<void>;
  changed(data: unknown): Promise<void>;
  /** Every change is told from now on, and all before were asked about. */
  followed(): void;
  /** Changes may be missed from now on. Called for each attempt that ends. */
  lost(reason: unknown): void;
}

/** Resolves when the stream ends. */
type Stream = (signal: AbortSignal, tell: (event: ServiceEvent) => void) => Promise<void>;

const PAUSES_MS = [100, 200, 400, 800, 1_000];

/**
 * Follows one stream of changes until it is stopped. A break, a silence or a question without an answer begins it anew
 * with a recheck. The stream is read while questions are under way, so a slow answer is no silence.
 */
export class Follower {
  private readonly stopped = new AbortController();
  private attempt = new AbortController();
  private following = Promise.resolve();

  constructor(
    private readonly stream: Stream,
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
    const failed = (reason: unknown): void => {
      this.followed.lost(reason);
      began();
    };
    const follow = (succeeded: () => void): Promise<never> =>
      this.follow(() => {
        succeeded();
        this.followed.followed();
        began();
      });
    try {
      await retry(follow, { pausesMs: PAUSES_MS, mayPass: () => true, signal, failed });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Never resolves. Each attempt has a signal of its own, so that nothing of an old one is kept. */
  private async follow(followed: () => void): Promise<never> {
    const attempt = new AbortController();
    this.attempt = attempt;
    const fail = (error: unknown): void => attempt.abort(error);
    const rechecked = (): void => {
      if (!attempt.signal.aborted) followed();
    };
    try {
      await this.stream(attempt.signal, ({ name, data }) => {
        if (name === 'ready') this.followed.recheck().then(rechecked).catch(fail);
        // Not awaited: while the service answers, a later change can concern the same.
        else this.followed.changed(data).catch(fail);
      });
    } finally {
      attempt.abort();
    }
    throw new Unavailable('the stream of changes ended');
  }
}
