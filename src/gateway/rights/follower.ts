import { retry } from '../../kernel/network/retry.js';
import { Unavailable } from '../../kernel/network/unavailable.js';
import type { ServiceEvent } from '../event-stream.js';

/** What a follower calls. If a promise of it rejects, the follower begins again. */
export interface Followed {
  /** Asks about everything that is held, since the gateway has not heard of changes before this moment. */
  recheck(): Promise<void>;
  changed(data: unknown): Promise<void>;
  /** Addresses or domains were reserved, or their reservations were deleted. */
  reserved?(data: unknown): Promise<void>;
  /** Somebody stopped sessions. */
  stopped?(data: unknown): void;
  /** Every change is heard of from now on, and earlier changes were asked about. */
  followed(): void;
  /** Changes may be missed from now on. Called whenever an attempt ends. */
  lost(reason: unknown): void;
}

/** Resolves when the stream ends. */
type Stream = (signal: AbortSignal, tell: (event: ServiceEvent) => void) => Promise<void>;

const PAUSES_MS = [100, 200, 400, 800, 1_000];

/**
 * Follows one stream of changes until it is stopped. It begins again with a recheck when the stream breaks or is
 * silent, or when a question gets no answer. It reads the stream while questions are under way.
 */
export class Follower {
  private readonly stopped = new AbortController();
  private attempt = new AbortController();
  private following = Promise.resolve();

  constructor(
    private readonly stream: Stream,
    private readonly followed: Followed,
  ) {}

  /** Resolves once the stream is followed, or the first attempt has failed. */
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

  /** Makes the follower begin again, because something could not be asked. */
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
      await retry(follow, { pausesMs: PAUSES_MS, isTransient: () => true, signal, failed });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /**
   * One attempt, which never resolves. It has its own signal, so that a late answer of an old attempt changes nothing.
   */
  private async follow(followed: () => void): Promise<never> {
    const attempt = new AbortController();
    this.attempt = attempt;
    const fail = (error: unknown): void => attempt.abort(error);
    const rechecked = (): void => {
      if (!attempt.signal.aborted) followed();
    };
    try {
      // Not awaited: a later change may come before the service has answered about this one.
      await this.stream(attempt.signal, ({ name, data }) => {
        if (name === 'ready') this.followed.recheck().then(rechecked).catch(fail);
        else if (name === 'changed') this.followed.changed(data).catch(fail);
        else if (name === 'reserved') this.followed.reserved?.(data).catch(fail);
        else if (name === 'stopped') this.followed.stopped?.(data);
      });
    } finally {
      attempt.abort();
    }
    throw new Unavailable('the stream of changes ended');
  }
}
