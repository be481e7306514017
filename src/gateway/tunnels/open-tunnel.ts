import type { Endpoint } from '../endpoint.js';
import type { SignsOfLife } from '../protocol/signs-of-life.js';
import type { TunnelChannel } from '../protocol/tunnel-channel.js';
import type { SessionTunnel } from '../sessions/open-sessions.js';

export interface Label {
  readonly key: string;
  readonly value: string;
}

/** What a tunnel is bound to: an address of this gateway, or a domain or labels without a listener. */
export type TunnelTarget = Endpoint | { readonly domain: string } | { readonly labels: readonly Label[] };

/** A bind that the service permitted. It is open until its client is gone, cancels it or loses the right. */
export interface OpenTunnel {
  readonly accountId: string;
  readonly credentialId: string;
  readonly target: TunnelTarget;
  /** Of its client. */
  readonly signs: Pick<SignsOfLife, 'isAlive' | 'isSilent'>;
  /** What the service is told of it. */
  readonly reported: SessionTunnel | undefined;
  /**
   * Opens a channel to the client for a connection from `source`. Each side can end alone, as on a TCP connection, and
   * a slow side stops the other one. Rejects with a sentence if the client refuses, is gone, or has too many channels.
   */
  connect(source: Endpoint): Promise<TunnelChannel>;
}
