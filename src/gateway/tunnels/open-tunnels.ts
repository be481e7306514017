import type { OpenTunnel } from './open-tunnel.js';

/** The tunnels of this gateway, by account. */
export class OpenTunnels {
  private readonly byAccount = new Map<string, Set<OpenTunnel>>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  add(tunnel: OpenTunnel): void {
    const tunnels = this.byAccount.get(tunnel.accountId) ?? new Set();
    this.byAccount.set(tunnel.accountId, tunnels.add(tunnel));
    this.count += 1;
  }

  /** Does nothing if the tunnel is not here. */
  remove(tunnel: OpenTunnel): void {
    const tunnels = this.byAccount.get(tunnel.accountId);
    if (tunnels?.delete(tunnel) !== true) return;
    if (tunnels.size === 0) this.byAccount.delete(tunnel.accountId);
    this.count -= 1;
  }

  /** The account's tunnels, oldest first. */
  ofAccount(accountId: string): readonly OpenTunnel[] {
    return [...(this.byAccount.get(accountId) ?? [])];
  }
}
