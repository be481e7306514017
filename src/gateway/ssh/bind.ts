import type { TunnelRecord } from '../log/tunnel-record.js';
import type { TunnelChannel } from '../protocol/tunnel-channel.js';
import type { HeldRight } from '../rights/live-rights.js';
import type { TargetBody } from '../service-client.js';
import { NotCarried } from '../tunnels/not-carried.js';
import type { Endpoint, OpenTunnel, TunnelTarget } from '../tunnels/open-tunnel.js';
import type { BindListener } from './bind-listener.js';
import type { BindRequest } from './bind-request.js';

export type PermittedBy = Pick<HeldRight, 'accountId' | 'fingerprint' | 'source' | 'credentialId' | 'version'>;

/** What a bind does with its client. */
interface BindClient {
  open(source: Endpoint): Promise<TunnelChannel>;
  lost(reason: string): void;
  /** The bind was cancelled, and its last connection is gone. */
  unused(): void;
}

/** One permitted bind of a client: its right, its tunnel, its connections, and its listener if it has one. */
export class Bind implements OpenTunnel, HeldRight {
  readonly accountId: string;
  readonly fingerprint: string;
  readonly source: string;
  readonly target: TunnelTarget;
  readonly question: TargetBody;
  credentialId: string;
  version: number;
  private readonly channels = new Set<TunnelChannel>();
  private isOpen = true;

  constructor(
    readonly request: BindRequest,
    /** That of the listener, or a number that only the client knows. */
    readonly port: number,
    private readonly listener: BindListener | undefined,
    by: PermittedBy,
    readonly record: TunnelRecord,
    private readonly client: BindClient,
  ) {
    ({
      accountId: this.accountId,
      fingerprint: this.fingerprint,
      source: this.source,
      credentialId: this.credentialId,
      version: this.version,
    } = by);
    this.question = request.target;
    this.target = targetOf(request, port);
  }

  async connect(source: Endpoint): Promise<TunnelChannel> {
    const channel = this.isOpen ? await this.client.open(source) : undefined;
    // It may have been closed while the client opened the channel.
    if (channel === undefined || !this.isOpen) {
      channel?.cut('the tunnel is closed');
      throw new NotCarried('the tunnel is closed');
    }
    this.channels.add(channel);
    channel.once('close', () => {
      this.channels.delete(channel);
      if (!this.isOpen && this.channels.size === 0) this.client.unused();
    });
    return channel;
  }

  lose(reason: string): void {
    this.client.lost(reason);
  }

  /** As sshd does: takes no further connections, and what goes through it goes on. Returns whether something does. */
  cancel(): boolean {
    this.isOpen = false;
    this.listener?.close();
    return this.channels.size > 0;
  }

  /** Ends it with all its connections. */
  close(): void {
    this.cancel();
    for (const channel of this.channels) channel.cut('the tunnel is closed');
  }
}

const targetOf = ({ target, listen }: BindRequest, port: number): TunnelTarget =>
  'address' in target ? { address: listen?.host ?? '', port } : target;
