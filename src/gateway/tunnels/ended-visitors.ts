/** Ends a visitor. Resolves when its place is free. */
export type GiveWay = () => Promise<void>;

/**
 * The visitors that have ended their side of a connection, in the order of their ends. Each of them waits for an answer or
 * has vanished, and nobody can tell which. So they keep their places until other visitors need them.
 */
export class EndedVisitors {
  private readonly visitors = new Set<GiveWay>();

  /** Returns a function that takes the visitor out again. */
  add(giveWay: GiveWay): () => void {
    this.visitors.add(giveWay);
    return () => void this.visitors.delete(giveWay);
  }

  /** Ends the visitor whose end is the oldest, and resolves when its place is free. Undefined if there is no such visitor. */
  displaceOldest(): Promise<void> | undefined {
    const [oldest] = this.visitors;
    if (oldest !== undefined) this.visitors.delete(oldest);
    return oldest?.();
  }
}
