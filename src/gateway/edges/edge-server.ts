import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../error-message.js';
import type { GatewayContext } from '../gateway-context.js';
import type { GatewayPart } from '../gateway-part.js';
import { ServiceUnavailable } from '../service/service-unavailable.js';
import type { Endpoint } from '../tunnels/open-tunnel.js';
import { type AllConnections, EdgePort } from './edge-port.js';
import { EdgesOfService } from './edges-of-service.js';
import { Refresher } from './refresher.js';
import { judge } from './served-edge.js';

const PAUSE_MS = 500;
/** When an address is tried again that could not be used. */
const LISTEN_AGAIN_MS = 5_000;

interface ChangedEdges {
  readonly ids: readonly string[];
  readonly hostports: readonly string[];
}

/** Serves the edges at the hosts that this gateway owns, and follows their changes. */
export class EdgeServer implements GatewayPart {
  private readonly service: EdgesOfService;
  private readonly ports = new Map<string, EdgePort>();
  private readonly connections: AllConnections = new Set();
  private readonly stopped = new AbortController();
  private readonly refresher = new Refresher((hostport) => this.refresh(hostport));
  private readonly laterAt = new Map<string, NodeJS.Timeout>();
  private following = Promise.resolve();
  private outage: NodeJS.Timeout | undefined;

  constructor(private readonly context: GatewayContext) {
    this.service = new EdgesOfService(context.service);
  }

  async start(): Promise<void> {
    this.following = this.keepFollowing();
  }

  async stop(): Promise<void> {
    this.stopped.abort();
    clearTimeout(this.outage);
    this.closeAll();
    await this.following;
    await this.refresher.idle();
    // What was under way may have opened one.
    this.closeAll();
  }

  private async keepFollowing(): Promise<void> {
    const { signal } = this.stopped;
    while (!signal.aborted) {
      const reason = await this.follow(signal).catch((error) => error);
      if (!signal.aborted) this.lost(reason);
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Never resolves. What is refreshed meanwhile fails the whole, so that everything is asked for again. */
  private async follow(stopped: AbortSignal): Promise<void> {
    const failed = new AbortController();
    const fail = (error: unknown): void => failed.abort(error);
    const signal = AbortSignal.any([stopped, failed.signal]);
    try {
      for await (const { name, data } of this.context.service.changes(signal, 'edges/changes')) {
        if (name === 'ready') this.reload().catch(fail);
        if (name === 'changed') this.refreshSome(data as ChangedEdges).catch(fail);
      }
    } catch (error) {
      throw failed.signal.aborted ? failed.signal.reason : error;
    }
    throw new ServiceUnavailable('the stream of changes of edges ended');
  }

  private async reload(): Promise<void> {
    const { gatewayHosts } = this.context.settings;
    const listed = await Promise.all(
      gatewayHosts.map(async ({ host }) => (await this.service.portsOf(host)).map((port) => `${host}:${port}`)),
    );
    const hostports = new Set([...this.ports.keys(), ...listed.flat().filter((one) => this.endpointOf(one))]);
    await this.refresher.refresh(hostports);
    clearTimeout(this.outage);
    this.outage = undefined;
    this.context.log.line('info', { hostports: hostports.size }, 'following the changes of edges');
  }

  private async refreshSome({ ids, hostports }: ChangedEdges): Promise<void> {
    const changed = new Set(ids);
    const held = [...this.ports.values()].filter(({ concerns }) => [...concerns].some((id) => changed.has(id)));
    const own = hostports.filter((hostport) => this.endpointOf(hostport) !== undefined);
    await this.refresher.refresh(new Set([...own, ...held.map(({ hostport }) => hostport)]));
  }

  private async refresh(hostport: string): Promise<void> {
    const at = this.endpointOf(hostport);
    if (at === undefined) return;
    const answer = await this.service.at(hostport);
    if (this.stopped.signal.aborted) return;
    const port = this.ports.get(hostport) ?? this.newPort(hostport, at);
    const canListen = await port.apply(judge(answer, this.context.settings.edgeTrafficPolicies === 'ignore'));
    if (answer.edges.length === 0) this.ports.delete(hostport);
    if (!canListen) this.listenLater(hostport);
  }

  /** One timer for each hostport: else each change of an edge would add one that comes back for ever. */
  private listenLater(hostport: string): void {
    clearTimeout(this.laterAt.get(hostport));
    const again = (): void => {
      this.laterAt.delete(hostport);
      void this.listenAgain(hostport);
    };
    this.laterAt.set(hostport, setTimeout(again, LISTEN_AGAIN_MS).unref());
  }

  /** If the service is away, the reload that follows its return tries too. */
  private async listenAgain(hostport: string): Promise<void> {
    if (!this.stopped.signal.aborted) await this.refresher.refresh(new Set([hostport])).catch(() => undefined);
  }

  private newPort(hostport: string, at: Endpoint): EdgePort {
    const port = new EdgePort(hostport, at, this.context, this.service, this.connections);
    this.ports.set(hostport, port);
    return port;
  }

  /** Where the gateway listens for a hostport; undefined if it does not. */
  private endpointOf(hostport: string): Endpoint | undefined {
    const colon = hostport.lastIndexOf(':');
    const [name, port] = [hostport.slice(0, colon), Number(hostport.slice(colon + 1))];
    const { gatewayHosts, edgePorts } = this.context.settings;
    const owned = gatewayHosts.find(({ host }) => host === name);
    if (owned === undefined || port < edgePorts.min || port > edgePorts.max) return undefined;
    return { address: owned.listenAddress, port };
  }

  private lost(error: unknown): void {
    if (this.outage !== undefined) return;
    const { outageGraceMs } = this.context.settings;
    const message = `edges stay as they are for ${outageGraceMs} ms: ${messageOf(error)}`;
    this.context.log.line('warn', { hostports: this.ports.size }, message);
    this.outage = setTimeout(() => {
      this.context.log.line('error', {}, 'the service was away for too long: closing all edges');
      this.closeAll();
    }, outageGraceMs).unref();
  }

  private closeAll(): void {
    for (const port of this.ports.values()) port.close();
  }
}
