import type { Endpoint } from '../endpoint.js';
import { NotCarried } from '../protocol/not-carried.js';
import type { SignsOfLife } from '../protocol/signs-of-life.js';
import type { TunnelChannel } from '../protocol/tunnel-channel.js';
import type { TunnelRecord } from '../records/tunnel-record.js';
import type { HeldRight } from '../rights/live-rights.js';
import type { OpenTunnel, TunnelTarget } from '../tunnels/open-tunnel.js';
import type { Permission } from './bind-questions.js';
import type { BindRequest } from './bind-request.js';

type BoundBy = Pick<HeldRight, 'accountId' | 'fingerprint' | 'source'>;

/** What a bind needs from its client. */
interface BindClient {
  readonly record: TunnelRecord;
  readonly signs: SignsOfLife;
  open(source: Endpoint): Promise<TunnelChannel>;
  /** The bind has lost its right. `needs`: the rule that would permit it again. */
  lost(reason: string, needs: string | null | undefined): void;
  /** The bind was cancelled, and its last connection is gone. */
  unused(): void;
}

/** A permitted bind of a client, with its rights, its connections, and its listener if it has one. */
export class Bind implements OpenTunnel {
  readonly accountId: string;
  readonly target: TunnelTarget;
  /** One for each question. The bind ends when the first of them is lost. */
  readonly rights: readonly HeldRight[];
  private readonly channels = new Set<TunnelChannel>();
  private isOpen = true;

  constructor(
    readonly request: BindRequest,
    /** The port of the listener, or a number that only the client uses. */
    readonly port: number,
    private readonly listener: { close(): void } | undefined,
    by: BoundBy,
    permissions: readonly Permission[],
    private readonly client: BindClient,
  ) {
    this.accountId = by.accountId;
    this.target = targetOf(request, port);
    this.rights = permissions.map(({ target, ...permission }) => ({
      ...{ ...by, ...permission, question: target },
      lose: (reason, needs) => client.lost(reason, needs),
    }));
  }

  get record(): TunnelRecord {
    return this.client.record;
  }

  get reported(): OpenTunnel['reported'] {
    return this.record.reported;
  }

  /** The credential of its first label, if it has several. */
  get credentialId(): string {
    return this.rights[0]?.credentialId ?? '';
  }

  get signs(): SignsOfLife {
    return this.client.signs;
  }

  async connect(source: Endpoint): Promise<TunnelChannel> {
    const channel = this.isOpen ? await this.client.open(source) : undefined;
    // The bind may have been closed while the client opened the channel.
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

  /** Takes no further connections. Open ones go on, as with sshd. Returns whether there are any. */
  cancel(): boolean {
    this.isOpen = false;
    this.listener?.close();
    return this.channels.size > 0;
  }

  /** Closes the bind and all its connections. */
  close(): void {
    this.cancel();
    for (const channel of this.channels) channel.cut('the tunnel is closed');
  }
}

const targetOf = ({ target }: BindRequest, port: number): TunnelTarget =>
  'host' in target ? { address: target.host, port } : target;
