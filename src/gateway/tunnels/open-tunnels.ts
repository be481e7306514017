import type { OpenTunnel } from './open-tunnel.js';

type Listener = (accountId: string) => void;

/** The tunnels of this gateway, by account. */
export class OpenTunnels {
  private readonly byAccount = new Map<string, Set<OpenTunnel>>();
  private readonly listeners = new Set<Listener>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  add(tunnel: OpenTunnel): void {
    const tunnels = this.byAccount.get(tunnel.accountId) ?? new Set();
    this.byAccount.set(tunnel.accountId, tunnels.add(tunnel));
    this.count += 1;
    this.tell(tunnel.accountId);
  }

  /** Does nothing if the tunnel was removed before. */
  remove(tunnel: OpenTunnel): void {
    const tunnels = this.byAccount.get(tunnel.accountId);
    if (tunnels?.delete(tunnel) !== true) return;
    if (tunnels.size === 0) this.byAccount.delete(tunnel.accountId);
    this.count -= 1;
    this.tell(tunnel.accountId);
  }

  /** The account's tunnels, oldest first. */
  ofAccount(accountId: string): readonly OpenTunnel[] {
    return [...(this.byAccount.get(accountId) ?? [])];
  }

  /** Calls `listener` with the account whose tunnels have changed, until the returned function is called. */
  onChange(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  private tell(accountId: string): void {
    for (const listener of this.listeners) listener(accountId);
  }
}
