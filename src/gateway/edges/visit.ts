import type { EdgeConnection } from './edge-connection.js';
import type { ServedEdge } from './served-edge.js';

/** A connection to a hostport, and the edge that was served there when it was last looked at. */
export class Visit {
  private seen: ServedEdge | undefined;

  constructor(
    readonly connection: EdgeConnection,
    readonly hostport: string,
    private readonly servedNow: () => ServedEdge | undefined,
    /** The connection is open already. */
    readonly isReview = false,
  ) {}

  get isGone(): boolean {
    return this.connection.socket.destroyed;
  }

  /** The edge that is served now. */
  look(): ServedEdge | undefined {
    this.seen = this.servedNow();
    return this.seen;
  }

  /** Whether the same edge is served as at the last look. */
  get isUpToDate(): boolean {
    return this.seen === this.servedNow();
  }
}
