import type { TunnelChannel } from '../protocol/tunnel-channel.js';

/** An address and a port, as the gateway names them to others. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

export interface Label {
  readonly key: string;
  readonly value: string;
}

/** What a tunnel is bound to: an address of this gateway, a domain without a listener, or labels with a key each. */
export type TunnelTarget = Endpoint | { readonly domain: string } | { readonly labels: readonly Label[] };

/** One bind of an SSH client that the service permitted. It is open from its answer until its client or right is gone. */
export interface OpenTunnel {
  readonly accountId: string;
  readonly credentialId: string;
  readonly target: TunnelTarget;
  /**
   * Opens a channel to the client for a connection from `source`. Each side can end alone, as on a TCP connection, and a
   * slow side stops the other one. Rejects with a sentence if the client refuses, is gone, or has too many channels.
   */
  connect(source: Endpoint): Promise<TunnelChannel>;
}
