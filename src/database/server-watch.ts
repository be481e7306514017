import type { Pool, PoolClient } from 'pg';
import { DatabaseUnreachable, PostgresFailure } from './failure.js';
import { PrimaryClient } from './primary-pool.js';
import { type NamedStatement, queryNamed } from './query.js';
import type { Servers } from './servers.js';

/** A read that may take long. It waits for its turn or for a connection until it has a client. */
export interface WatchedRead {
  /** Ends the read, whatever it waits for. */
  readonly ending: AbortController;
  client?: PoolClient;
}

const LOOK_EVERY_MS = 250;
/** A server that answered no request for this time is asked whether it still does. */
const ASK_AFTER_MS = 750;
const IS_ALIVE: NamedStatement = { name: 'is_alive', text: 'select 1 as alive' };
/** With the two times above, a read ends within 3 s after the server's last answer. */
const ASK_LIMITS = { deadlineMs: 1_750, silenceMs: 1_200, attempts: 2, isRead: true } as const;

/**
 * Ends reads that may take long when their server is lost. Their own silence says nothing, so the server is asked. If
 * it does not answer, and no other server takes its place, every read ends: those that wait would wait in vain.
 */
export class ServerWatch {
  private readonly reads = new Set<WatchedRead>();
  private timer: NodeJS.Timeout | undefined;
  private isAsking = false;

  /** The question is sent through `pool`. */
  constructor(
    private readonly servers: Servers,
    private readonly pool: Pool,
  ) {}

  begin(read: WatchedRead): void {
    this.reads.add(read);
    this.timer ??= setInterval(() => this.look(), LOOK_EVERY_MS);
  }

  end(read: WatchedRead): void {
    this.reads.delete(read);
    if (this.reads.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Statements of other requests may have shown that a server fell silent or is gone. */
  private look(): void {
    for (const read of this.reads) {
      if (read.client !== undefined && !isTrusted(read.client)) read.ending.abort(lost('the server is lost'));
    }
    const { next } = this.servers;
    if (!next.hasAnsweredSince(performance.now() - ASK_AFTER_MS)) void this.ask();
  }

  private async ask(): Promise<void> {
    if (this.isAsking) return;
    this.isAsking = true;
    try {
      await queryNamed(this.pool, IS_ALIVE, [], ASK_LIMITS);
    } catch (error) {
      if (PostgresFailure.of(error).isConnectionLoss) this.endAll();
    } finally {
      this.isAsking = false;
    }
  }

  private endAll(): void {
    for (const { ending } of this.reads) ending.abort(lost('no server answers'));
  }
}

const lost = (what: string): DatabaseUnreachable => new DatabaseUnreachable(what, { wasSent: true });

const isTrusted = (client: PoolClient): boolean => !(client instanceof PrimaryClient) || client.isTrusted;
