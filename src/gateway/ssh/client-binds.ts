import { messageOf } from '../../kernel/error-message.js';
import { type OwnedHost, TunnelDomain } from '../../rules/index.js';
import type { GatewayContext } from '../context/gateway-context.js';
import { shortened } from '../log/shortened.js';
import type { SignsOfLife } from '../protocol/signs-of-life.js';
import type { ConnectionRecord } from '../records/connection-record.js';
import { TunnelRecord } from '../records/tunnel-record.js';
import type { IdentifiedKey, TargetBody } from '../service-client.js';
import { BindRefused, isOfReservation } from '../tunnels/bind-refused.js';
import type { Holder } from '../tunnels/held-addresses.js';
import type { OpenTunnel } from '../tunnels/open-tunnel.js';
import { Bind } from './bind.js';
import { BindListener } from './bind-listener.js';
import { BindQuestions, type Permission } from './bind-questions.js';
import { type BindRequest, questionAt, readBindRequest } from './bind-request.js';
import type { ClientChannels } from './client-channels.js';
import type { ClientUsage } from './limits.js';
import { boundLine, nameOf, sentenceOf } from './sentences.js';
import type { Terminal } from './terminal.js';

const MAX_PORT = 65_535;
/** How many free ports a bind to port 0 takes before it is refused, because they are reserved. */
const MAX_PORTS_TAKEN = 20;
const AWAY = 'the service cannot be reached';

/** Where a permitted bind listens, or the name that it holds; without either for labels. */
interface Place {
  readonly listener?: { readonly port?: number; close(): void };
  readonly permissions: readonly Permission[];
}

interface BoundClient {
  readonly identity: IdentifiedKey;
  readonly source: string;
  readonly record: ConnectionRecord;
  readonly signs: SignsOfLife;
  /** A newer connection takes an address over: all binds end, and then the client. */
  giveWay(): void;
  /** Calls `act`. An error that it throws ends the connection of the client. */
  attempt(act: () => void): void;
}

/** The binds of one client, from the request to the end of the bind. */
export class ClientBinds implements Holder {
  private readonly binds = new Set<Bind>();
  /** Cancelled binds take no new connection. They keep their right while a connection of theirs goes on. */
  private readonly cancelled = new Set<Bind>();
  private readonly questions: BindQuestions;
  private underWay = 0;
  private lastVirtualPort = 0;
  isOver = false;
  readonly signs: SignsOfLife;

  constructor(
    private readonly context: GatewayContext,
    private readonly client: BoundClient,
    private readonly usage: ClientUsage,
    private readonly channels: ClientChannels,
    private readonly terminal: Terminal,
    /** Called when the last bind is gone. */
    private readonly onEmpty: () => void,
  ) {
    this.signs = client.signs;
    this.questions = new BindQuestions(context.service, client.identity, client.source);
  }

  private get isHttp(): boolean {
    return this.context.settings.httpListen !== undefined;
  }

  /** A key with several credentials has the name of the oldest one. */
  private get below() {
    const { tunnel_domain: url, credentials } = this.client.identity;
    const [oldest] = credentials;
    if (url == null || oldest === undefined) return undefined;
    const domain = new TunnelDomain(url);
    return { domain, givenName: domain.givenName(oldest.credential_id) };
  }

  private urlOf({ target }: BindRequest): string | undefined {
    return 'domain' in target && this.isHttp ? this.below?.domain.urlOf(target.domain) : undefined;
  }

  /** There is no bind, and no connection through a cancelled one. */
  get isUnused(): boolean {
    return this.isEmpty && this.cancelled.size === 0;
  }

  get isEmpty(): boolean {
    return this.binds.size + this.underWay === 0;
  }

  giveWay(): void {
    if (!this.isOver) this.client.attempt(() => this.client.giveWay());
  }

  /** Resolves with the port that is bound. Throws BindRefused after the client was told why. */
  async open(address: string, port: number): Promise<number> {
    this.underWay += 1;
    try {
      const bind = await this.permitted(address, port);
      bind.record.opened();
      this.terminal.say(this.lineOf(bind));
      return bind.port;
    } catch (error) {
      const refused = error instanceof BindRefused ? error : unavailable(messageOf(error));
      this.context.metrics.refusedBinds.inc({ reason: refused.reason });
      await this.terminal.sayAndWait(`refused ${shortened(address) || '*'}:${port}: ${refused.message}`);
      throw refused;
    } finally {
      this.underWay -= 1;
    }
  }

  /** Cancels a bind. False if there is no such bind. */
  cancel(address: string, port: number): boolean {
    const found = this.boundTo(address, port);
    if (found === undefined) return false;
    this.remove(found);
    const goesOn = found.cancel();
    if (goesOn) this.cancelled.add(found);
    else this.release(found, 'cancelled');
    this.sayClosed(found, goesOn ? 'the client cancelled it; its open connections go on' : 'the client cancelled it');
    return true;
  }

  /** The client is gone. */
  close(): void {
    this.isOver = true;
    for (const bind of [...this.binds, ...this.cancelled]) this.closeBind(bind);
  }

  private async permitted(address: string, port: number): Promise<Bind> {
    const { settings, rights, ports } = this.context;
    const serving = { hosts: settings.gatewayHosts, ports, isHttp: this.isHttp, below: this.below };
    const request = readBindRequest(address, port, serving);
    if (!rights.isFollowing) throw unavailable(AWAY);
    const refusal = this.usage.take('binds');
    if (refusal !== undefined) throw new BindRefused('too_many', refusal);
    const countBefore = rights.changeCount;
    const bind = await this.make(request).catch((error) => {
      this.usage.release('binds');
      throw error;
    });
    if (!this.isOver && bind.rights.every((right) => rights.hold(right, countBefore))) return bind;
    // The service went away while it was asked, so the gateway would hear of no change of this right.
    this.closeBind(bind);
    throw unavailable(AWAY);
  }

  private async make(request: BindRequest): Promise<Bind> {
    const permissions = await this.questions.permissionsFor(request.questions);
    let made: Bind | undefined;
    const place = await this.listen(request, permissions, () => made);
    if (this.isOver) {
      place.listener?.close();
      throw new BindRefused('cannot_listen', 'the client is gone');
    }
    const bind = this.bindAt(request, place);
    made = bind;
    this.binds.add(bind);
    this.context.tunnels.add(bind);
    return bind;
  }

  private bindAt(request: BindRequest, place: Place): Bind {
    try {
      return this.bindOf(request, place);
    } catch (error) {
      place.listener?.close();
      throw error;
    }
  }

  private async listen(
    { target, asked }: BindRequest,
    permissions: readonly Permission[],
    tunnelOf: () => OpenTunnel | undefined,
  ): Promise<Place> {
    const by = { credentialId: permissions[0]?.credentialId ?? '', holder: this };
    if ('domain' in target && this.isHttp) {
      const asking = { name: target.domain, accountId: this.client.identity.account_id };
      return { permissions, listener: await this.context.names.open(asking, by, tunnelOf) };
    }
    if (!('host' in target)) return { permissions };
    const open = () =>
      BindListener.open({ address: target.listenAddress, port: asked.port }, by, tunnelOf, this.context);
    return asked.port === 0 ? this.listenAtAny(target, open) : { permissions, listener: await open() };
  }

  /** Whose a port is can be asked only once it is taken. The client has the right to this port from then on. */
  private async listenAtAny(target: OwnedHost, open: () => Promise<BindListener>): Promise<Place> {
    for (let n = 1; ; n += 1) {
      const listener = await open();
      try {
        const question = questionAt(target, listener.port, this.context.settings.gatewayHosts);
        return { listener, permissions: await this.questions.permissionsFor([question]) };
      } catch (error) {
        listener.close();
        const isReserved = error instanceof BindRefused && isOfReservation(error.reason);
        if (!isReserved || this.isOver || n === MAX_PORTS_TAKEN) throw error;
      }
    }
  }

  private bindOf(request: BindRequest, { permissions, listener }: Place): Bind {
    const { identity, source } = this.client;
    const bound = { address: request.asked.address, port: listener?.port ?? this.virtualPort(request) };
    const by = { accountId: identity.account_id, fingerprint: identity.fingerprint, source };
    const credentialId = permissions[0]?.credentialId ?? '';
    const recorded = {
      ...{ target: nameOf(request, bound.port), accountId: identity.account_id, credentialId },
      targets: targetsOf(request, bound.port),
      url: this.urlOf(request),
    };
    const record = new TunnelRecord(this.context, recorded, this.client.record);
    const bind: Bind = new Bind(request, bound.port, listener, by, permissions, {
      record,
      signs: this.signs,
      open: (from) => this.channels.open(bound, from, record),
      lost: (reason, needs) => this.client.attempt(() => this.lost(bind, reason, needs)),
      unused: () => this.unused(bind),
    });
    return bind;
  }

  /** The port of a bind without a listener. By the address and the port the client finds its forwarding. */
  private virtualPort({ asked }: BindRequest): number {
    if (asked.port === 0) return this.freeVirtualPort();
    if (this.boundTo(asked.address, asked.port) === undefined) return asked.port;
    throw new BindRefused('cannot_listen', 'the client has already bound it; ask for another port');
  }

  private freeVirtualPort(): number {
    const taken = new Set([...this.binds].map(({ port }) => port));
    if (taken.size >= MAX_PORT)
      throw new BindRefused('too_many', `the client has ${MAX_PORT} binds, one for each port`);
    // From the highest down, since clients that ask for a port take a low one.
    do this.lastVirtualPort = this.lastVirtualPort > 1 ? this.lastVirtualPort - 1 : MAX_PORT;
    while (taken.has(this.lastVirtualPort));
    return this.lastVirtualPort;
  }

  private boundTo(address: string, port: number): Bind | undefined {
    return [...this.binds].find((bind) => bind.request.asked.address === address && bind.port === port);
  }

  private lost(bind: Bind, reason: string, needs: string | null | undefined): void {
    // A bind of several labels can lose several rights at once.
    if (!this.binds.has(bind) && !this.cancelled.has(bind)) return;
    this.sayClosed(bind, sentenceOf(reason, needs, this.client.source));
    this.closeBind(bind, reason);
    if (this.isEmpty) this.onEmpty();
  }

  private sayClosed(bind: Bind, why: string): void {
    const { request, port } = bind;
    this.terminal.sayEnd(this.lineOf(bind), `closed ${nameOf(request, port)}: ${why}`);
  }

  private lineOf({ request, port }: Bind): string {
    return boundLine(request, port, this.isHttp, this.urlOf(request));
  }

  private unused(bind: Bind): void {
    if (this.cancelled.delete(bind)) this.release(bind, 'cancelled');
  }

  private closeBind(bind: Bind, reason?: string): void {
    this.remove(bind);
    this.cancelled.delete(bind);
    this.release(bind, reason);
    bind.close();
  }

  private release(bind: Bind, reason?: string): void {
    for (const right of bind.rights) this.context.rights.release(right);
    bind.record.ended(reason);
  }

  private remove(bind: Bind): void {
    if (!this.binds.delete(bind)) return;
    this.context.tunnels.remove(bind);
    this.usage.release('binds');
  }
}

/** With the real port, where the client asked for any. */
const targetsOf = ({ target, questions }: BindRequest, port: number): readonly TargetBody[] =>
  'host' in target ? [{ address: `${target.host}:${port}` }] : questions;

const unavailable = (message: string): BindRefused =>
  new BindRefused('service_unavailable', `${message}; try again later`);
