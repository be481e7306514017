import { sourceOf } from '../../rules/index.js';
import type { GatewayContext } from '../context/gateway-context.js';
import type { Endpoint } from '../endpoint.js';
import type { TunnelChannel } from '../protocol/tunnel-channel.js';
import type { OpenTunnel } from '../tunnels/open-tunnel.js';

/** A request as far as it is told. */
interface Visit {
  readonly host: string;
  readonly source: Endpoint;
}

/** Writes log lines and metrics about visitors of names. The service is told of the end of each channel of theirs. */
export class VisitRecord {
  constructor(private readonly context: Pick<GatewayContext, 'lines' | 'metrics' | 'names' | 'sessions'>) {}

  malformed(): void {
    this.context.metrics.visits.inc({ outcome: 'malformed' });
  }

  /** The name is not served: no tunnel has it, or none of its tunnels answers. */
  refused(outcome: 'no_tunnel' | 'no_answer', visit: Visit): void {
    this.context.metrics.visits.inc({ outcome });
    const [account] = this.context.names.pathOf(visit.host) ?? [];
    this.write('http_refused', visit, account, { outcome }, 'did not serve a name');
  }

  carried(channel: TunnelChannel, tunnel: OpenTunnel, visit: Visit): void {
    const since = performance.now();
    this.context.metrics.visits.inc({ outcome: 'carried' });
    this.write('http_opened', visit, tunnel.accountId, {}, 'carries a visitor of a name');
    channel.once('close', () => {
      const { in: bytes_in, out: bytes_out } = channel.carried;
      const used = { ms: Math.round(performance.now() - since), bytes_in, bytes_out };
      this.write('http_ended', visit, tunnel.accountId, used, 'a visitor of a name is gone');
      this.report(tunnel, visit, { ...used, reason: channel.wasCut ? 'cut' : 'closed' });
    });
  }

  private report(tunnel: OpenTunnel, { host, source: { address, port } }: Visit, end: ChannelEnd): void {
    if (tunnel.reported === undefined) return;
    const { id, session } = tunnel.reported;
    this.context.sessions.endConnection({
      ...{ account_id: tunnel.accountId, host, client: clientText(address, port) },
      ...{ session_id: session.id, tunnel_id: id, credential_id: tunnel.credentialId, ...end },
    });
  }

  private write(event: string, { host, source }: Visit, account: string | undefined, more: object, text: string): void {
    const ofAccount = account !== undefined && { account };
    const fields = { event, host, ...ofAccount, source: source.address, ...more };
    this.context.lines.visits.line({ name: sourceOf(source.address), ...ofAccount }, fields, text);
  }
}

/** A proxy names no port. */
const clientText = (address: string, port: number): string =>
  port === 0 ? address : `${address.includes(':') ? `[${address}]` : address}:${port}`;

interface ChannelEnd {
  readonly ms: number;
  readonly bytes_in: number;
  readonly bytes_out: number;
  readonly reason: string;
}
