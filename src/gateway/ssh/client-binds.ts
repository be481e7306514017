import { messageOf } from '../../error-message.js';
import type { GatewayContext } from '../gateway-context.js';
import type { CredentialUsage } from '../limits.js';
import type { Decision, IdentifiedKey } from '../service-client.js';
import type { Endpoint } from '../tunnels/open-tunnel.js';
import type { TunnelStream } from '../tunnels/tunnel-stream.js';
import { Bind } from './bind.js';
import { BindListener } from './bind-listener.js';
import { BindRefused, type BindRequest, readBindRequest } from './bind-request.js';
import type { ClientChannels } from './client-channels.js';
import type { Terminal } from './terminal.js';

const MAX_PORT = 65_535;

/** The binds of one client, from the question to the end of their right. */
export class ClientBinds {
  private readonly binds = new Map<Bind, Set<TunnelStream>>();
  private underWay = 0;
  private lastVirtualPort = 0;
  private isClosed = false;

  constructor(
    private readonly context: GatewayContext,
    private readonly client: { readonly identity: IdentifiedKey; readonly source: string },
    private readonly usage: CredentialUsage,
    private readonly channels: ClientChannels,
    private readonly terminal: Terminal,
    /** Called when the last bind is gone. */
    private readonly onEmpty: () => void,
  ) {}

  get isEmpty(): boolean {
    return this.binds.size + this.underWay === 0;
  }

  /** Answers with the port that is bound. Throws BindRefused once the client has been told why. */
  async open(address: string, port: number): Promise<number> {
    this.underWay += 1;
    try {
      const bind = await this.permitted(address, port);
      const { domain } = { domain: undefined, ...bind.target };
      const note = domain === undefined ? '' : ' (registered; this gateway has no listener for it)';
      this.terminal.say(`bound ${nameOf(bind.request, bind.port)}${note}`);
      return bind.port;
    } catch (error) {
      const refused = error instanceof BindRefused ? error : unavailable(error);
      this.context.metrics.refusedBinds.inc({ reason: refused.reason });
      await this.terminal.sayFirst(`refused ${address || '*'}:${port}: ${refused.message}`);
      throw refused;
    } finally {
      this.underWay -= 1;
    }
  }

  /** Whether there was such a bind. */
  cancel(address: string, port: number): boolean {
    const found = [...this.binds.keys()].find((bind) => bind.request.asked.address === address && bind.port === port);
    if (found === undefined) return false;
    this.closeListener(found);
    return true;
  }

  /** The client is gone. */
  close(): void {
    this.isClosed = true;
    for (const bind of this.binds.keys()) this.closeBind(bind);
  }

  private async permitted(address: string, port: number): Promise<Bind> {
    const { settings, rights } = this.context;
    const request = readBindRequest(address, port, settings.gatewayHosts);
    if (!rights.isFollowing) throw unavailable(new Error('the service cannot be reached'));
    if (!this.usage.take('binds')) {
      throw new BindRefused('too_many', `the credential has ${settings.maxBinds} binds, which is the maximum`);
    }
    try {
      const toldBefore = rights.told;
      const decision = await this.decide(request);
      const bind = await this.make(request, decision);
      rights.hold(bind, toldBefore);
      return bind;
    } catch (error) {
      this.usage.release('binds');
      throw error;
    }
  }

  private async decide(request: BindRequest): Promise<Decision> {
    const { identity, source } = this.client;
    const [decision] = await this.context.service.authorize(identity.fingerprint, [request.target], source);
    if (decision?.allowed === true) return decision;
    throw new BindRefused('not_permitted', sentenceOf(decision?.reason, request.rule, source));
  }

  private async make(request: BindRequest, decision: Decision): Promise<Bind> {
    let made: Bind | undefined;
    const at = request.listen && { address: request.listen.listenAddress, port: request.asked.port };
    const listener = at && (await BindListener.open(at, () => made));
    const bind = this.bindOf(request, decision, listener);
    made = bind;
    if (this.isClosed) {
      listener?.close();
      throw new BindRefused('cannot_listen', 'the client is gone');
    }
    this.binds.set(bind, new Set());
    this.context.tunnels.add(bind);
    return bind;
  }

  private bindOf(request: BindRequest, decision: Decision, listener: BindListener | undefined): Bind {
    const { identity, source } = this.client;
    const port = listener?.port ?? (request.asked.port || this.virtualPort());
    const bound = { address: request.asked.address, port };
    const by = {
      accountId: decision.account_id ?? identity.account_id,
      fingerprint: identity.fingerprint,
      source,
      credentialId: decision.credential_id ?? '',
      version: decision.version ?? 0,
    };
    const bind: Bind = new Bind(
      request,
      port,
      listener,
      by,
      (from: Endpoint) => this.connect(bind, bound, from),
      (reason) => this.lost(bind, reason),
    );
    return bind;
  }

  private connect(bind: Bind, bound: Endpoint, from: Endpoint): Promise<TunnelStream> {
    const streams = this.binds.get(bind);
    if (streams === undefined) return Promise.reject(new Error('the tunnel is closed'));
    return this.channels.open(bound, from, streams);
  }

  /** For a bind without a listener: the client finds its forwarding by the port, so each has another. */
  private virtualPort(): number {
    const taken = new Set([...this.binds.keys()].map(({ port }) => port));
    do this.lastVirtualPort = (this.lastVirtualPort % MAX_PORT) + 1;
    while (taken.has(this.lastVirtualPort));
    return this.lastVirtualPort;
  }

  private lost(bind: Bind, reason: string): void {
    const { request, port, credentialId } = bind;
    const target = nameOf(request, port);
    this.context.log.line('info', { target, credential: credentialId, reason }, 'closed a tunnel that lost its right');
    this.terminal.say(`closed ${target}: ${sentenceOf(reason, request.rule, this.client.source)}`);
    this.closeBind(bind);
    if (this.isEmpty) this.onEmpty();
  }

  private closeBind(bind: Bind): void {
    const streams = this.binds.get(bind) ?? [];
    this.closeListener(bind);
    for (const stream of streams) stream.destroy();
  }

  /** As sshd does: what goes through the bind when it is cancelled goes on. */
  private closeListener(bind: Bind): void {
    if (!this.binds.delete(bind)) return;
    bind.closeListener();
    this.context.tunnels.remove(bind);
    this.context.rights.release(bind);
    this.usage.release('binds');
  }
}

const unavailable = (error: unknown): BindRefused =>
  new BindRefused('service_unavailable', `${messageOf(error)}; try again later`);

function nameOf({ target, listen }: BindRequest, port: number): string {
  if ('label' in target) return `${target.label.key}=${target.label.value}`;
  return 'domain' in target ? target.domain : `${listen?.host}:${port}`;
}

function sentenceOf(reason: string | undefined, rule: string, source: string): string {
  const sentences: Record<string, string> = {
    not_permitted: `no rule of the credential permits it; it needs the rule ${rule}`,
    source_not_allowed: `the credential may not be used from ${source}`,
    expired: 'the credential has expired',
    owner_inactive: 'the owner of the credential is inactive',
    unknown_key: 'the credential was deleted',
    service_unavailable: 'the service was away for too long',
  };
  return sentences[reason ?? ''] ?? `the service refuses it (${reason})`;
}
