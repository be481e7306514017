import type { GatewayContext } from '../gateway-context.js';
import type { GatewayPart } from '../gateway-part.js';
import { type Followed, Follower } from '../rights/follower.js';
import type { Endpoint } from '../tunnels/open-tunnel.js';
import { type AllConnections, EdgePort } from './edge-port.js';
import { EdgesOfService } from './edges-of-service.js';
import { Refresher } from './refresher.js';
import { judge } from './served-edge.js';

/** When an address is tried again that could not be used. */
const LISTEN_AGAIN_MS = 5_000;

interface ChangedEdges {
  readonly ids: readonly string[];
  readonly hostports: readonly string[];
}

/** Serves the edges at the hosts that this gateway owns, and follows their changes. */
export class EdgeServer implements GatewayPart, Followed {
  private readonly service: EdgesOfService;
  private readonly follower: Follower;
  private readonly ports = new Map<string, EdgePort>();
  private readonly connections: AllConnections = new Set();
  private readonly refresher = new Refresher((hostport) => this.refresh(hostport));
  private readonly laterAt = new Map<string, NodeJS.Timeout>();
  private isStopped = false;

  constructor(private readonly context: GatewayContext) {
    const { outage } = context;
    this.service = new EdgesOfService(context.service);
    this.follower = new Follower(context.service, 'edges/changes', outage, this);
    outage.on('following', () => void this.openAll().catch((error) => this.follower.fail(error)));
    outage.on('closed', () => this.closeAll());
  }

  /** Does not wait: the service may be away. */
  async start(): Promise<void> {
    void this.follower.start();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.closeAll();
    await this.follower.stop();
    await this.refresher.idle();
    // What was under way may have opened one.
    this.closeAll();
  }

  /** What is open comes first: it may have lost its right while nothing was told. */
  async recheck(): Promise<void> {
    await this.refresher.refresh(new Set(this.ports.keys()));
  }

  async changed(data: unknown): Promise<void> {
    await this.refreshSome(data as ChangedEdges);
  }

  private async openAll(): Promise<void> {
    const { gatewayHosts } = this.context.settings;
    const listed = await Promise.all(
      gatewayHosts.map(async ({ host }) => (await this.service.portsOf(host)).map((port) => `${host}:${port}`)),
    );
    const hostports = new Set([...this.ports.keys(), ...listed.flat().filter((one) => this.endpointOf(one))]);
    await this.refresher.refresh(hostports);
    this.context.log.line('info', { hostports: hostports.size }, 'all edges are as the service says');
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
    if (this.isStopped) return;
    const { outage, settings } = this.context;
    const port = this.ports.get(hostport) ?? this.newPort(hostport, at);
    const judgement = judge(answer, settings.edgeTrafficPolicies === 'ignore');
    const canListen = await port.apply(judgement, outage.isFollowing);
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
    if (!this.isStopped) await this.refresher.refresh(new Set([hostport])).catch(() => undefined);
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

  private closeAll(): void {
    for (const port of this.ports.values()) port.close();
  }
}
