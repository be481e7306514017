import type { Duplex } from 'node:stream';
import type { HeldRight } from '../rights/live-rights.js';
import type { TargetBody } from '../service-client.js';
import type { Endpoint, OpenTunnel, TunnelTarget } from '../tunnels/open-tunnel.js';
import type { BindListener } from './bind-listener.js';
import type { BindRequest } from './bind-request.js';

export type PermittedBy = Pick<
  OpenTunnel & HeldRight,
  'accountId' | 'fingerprint' | 'source' | 'credentialId' | 'version'
>;

/** One permitted bind of a client: its right, its tunnel, and its listener if it has one. */
export class Bind implements OpenTunnel, HeldRight {
  readonly accountId: string;
  readonly fingerprint: string;
  readonly source: string;
  readonly target: TunnelTarget;
  readonly question: TargetBody;
  credentialId: string;
  version: number;

  constructor(
    readonly request: BindRequest,
    /** That of the listener, or a number that only the client knows. */
    readonly port: number,
    private readonly listener: BindListener | undefined,
    by: PermittedBy,
    readonly connect: (source: Endpoint) => Promise<Duplex>,
    private readonly onLost: (reason: string) => void,
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

  lose(reason: string): void {
    this.onLost(reason);
  }

  closeListener(): void {
    this.listener?.close();
  }
}

const targetOf = ({ target, listen }: BindRequest, port: number): TunnelTarget =>
  'address' in target ? { address: listen?.host ?? '', port } : target;
