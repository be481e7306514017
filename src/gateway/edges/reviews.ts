import { setTimeout as sleep } from 'node:timers/promises';
import { Unavailable } from '../../kernel/network/unavailable.js';
import type { Admissions } from './admissions.js';
import type { EdgeConnection } from './edge-connection.js';
import type { ServedEdge } from './served-edge.js';
import { Visit } from './visit.js';

/** The pause before the service is asked again. */
const AGAIN_MS = 1_000;

/** The hostport whose open connections are reviewed. */
interface Reviewed {
  readonly hostport: string;
  /** The edge that is served there now. */
  readonly served: ServedEdge | undefined;
}

/** Decides about open connections of a hostport after each change, and ends those that are no longer let in. */
export class Reviews {
  /** The connections that wait. What the gateway can decide does not wait for what the service decides. */
  private readonly waiting = { here: new Set<EdgeConnection>(), asked: new Set<EdgeConnection>() };

  constructor(
    private readonly at: Reviewed,
    private readonly admissions: Admissions,
    private readonly rules: {
      /** How long a connection stays if the service does not answer. */
      readonly graceMs: number;
      readonly pauseMs?: number;
      readonly failed: (error: unknown) => void;
    },
  ) {}

  /** A connection that waits already is decided by what is served at its turn, so it waits once. */
  review(connection: EdgeConnection): void {
    const { served } = this.at;
    const admission = this.admissions.decideAtOnce(connection, served);
    if (admission?.refusal !== undefined) connection.end(admission.refusal);
    if (admission !== undefined || served === undefined) return;
    const waiting = this.waiting[this.admissions.isAsked(connection, served) ? 'asked' : 'here'];
    if (!waiting.has(connection)) void this.reviewLater(connection, waiting);
  }

  private async reviewLater(connection: EdgeConnection, waiting: Set<EdgeConnection>): Promise<void> {
    waiting.add(connection);
    try {
      await this.reviewUntilDecided(new Visit(connection, this.at.hostport, () => this.at.served, true));
    } catch (error) {
      connection.end('internal');
      this.rules.failed(error);
    } finally {
      waiting.delete(connection);
    }
  }

  private async reviewUntilDecided(visit: Visit): Promise<void> {
    let answeredMs = performance.now();
    for (;;) {
      const admission = await this.admissions.decide(visit).catch(noneIfUnavailable);
      if (visit.isGone) return;
      if (admission?.refusal !== undefined) return visit.connection.end(admission.refusal);
      if (admission !== undefined && visit.isUpToDate) return;
      if (admission !== undefined) answeredMs = performance.now();
      else if (performance.now() - answeredMs >= this.rules.graceMs) return visit.connection.end('service_unavailable');
      else await sleep(this.rules.pauseMs ?? AGAIN_MS, undefined, { ref: false });
    }
  }
}

function noneIfUnavailable(error: unknown): undefined {
  if (!(error instanceof Unavailable)) throw error;
}
