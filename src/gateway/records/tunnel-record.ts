import { omitUndefined } from '../../kernel/omit-undefined.js';
import type { GatewayContext } from '../context/gateway-context.js';
import type { Meter } from '../protocol/tunnel-channel.js';
import type { TargetBody } from '../service-client.js';
import type { SessionTunnel } from '../sessions/open-sessions.js';
import type { ConnectionRecord } from './connection-record.js';

interface RecordedTunnel {
  readonly target: string;
  readonly accountId: string;
  readonly credentialId: string;
  /** As the service was asked about them. */
  readonly targets: readonly TargetBody[];
  /** Where browsers find it, if that is known. */
  readonly url: string | undefined;
}

/** Writes log lines and metrics about one tunnel: its begin, its end, and what it carried. */
export class TunnelRecord {
  private readonly since = performance.now();
  private readonly bytes = { in: 0, out: 0 };
  private readonly fields: object;
  private visitors = 0;
  private isOpen = false;
  /** What the service is told of it. Undefined before it opens. */
  reported: SessionTunnel | undefined;

  constructor(
    private readonly context: Pick<GatewayContext, 'lines' | 'metrics'>,
    private readonly tunnel: RecordedTunnel,
    private readonly connection: ConnectionRecord,
  ) {
    const { target, credentialId, accountId, url } = tunnel;
    this.fields = {
      target,
      ...omitUndefined({ url }),
      credential: credentialId,
      account: accountId,
      ...connection.source,
    };
  }

  opened(): void {
    this.isOpen = true;
    this.connection.bound();
    const { credentialId: credential_id, targets } = this.tunnel;
    this.reported = this.connection.session?.open({ credential_id, targets });
    this.context.metrics.openedTunnels.inc();
    this.write({ event: 'tunnel_opened', ...this.fields }, 'opened a tunnel');
  }

  /** Counts one more visitor, and the bytes of its connection. */
  metered(meter: Meter): Meter {
    this.visitors += 1;
    this.reported?.count('connections', 1);
    return {
      count: (direction, bytes) => {
        this.bytes[direction] += bytes;
        this.reported?.count(`bytes_${direction}`, bytes);
        return meter.count(direction, bytes);
      },
    };
  }

  /**
   * Does nothing if the tunnel is not open. The default reason is why the connection of the client ended, which is
   * known at the end of this turn of the event loop.
   */
  ended(reason?: string): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    queueMicrotask(() => this.writeEnd(reason ?? this.connection.endReason));
  }

  private writeEnd(reason: string): void {
    this.context.metrics.endedTunnels.inc({ reason });
    this.reported?.ended(reason);
    const { bytes, visitors } = this;
    const ms = Math.round(performance.now() - this.since);
    const used = { ms, bytes_in: bytes.in, bytes_out: bytes.out, visitors };
    this.write({ event: 'tunnel_ended', ...this.fields, reason, ...used }, 'a tunnel ended');
  }

  private write(fields: object, message: string): void {
    const { credentialId, accountId } = this.tunnel;
    this.context.lines.tunnels.line({ name: credentialId, account: accountId }, fields, message);
  }
}
