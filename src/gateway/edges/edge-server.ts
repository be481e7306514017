import { Places } from '../../kernel/places.js';
import type { GatewayContext } from '../context/gateway-context.js';
import type { Endpoint } from '../endpoint.js';
import type { GatewayPart } from '../gateway-part.js';
import { type Followed, Follower } from '../rights/follower.js';
import { Admissions } from './admissions.js';
import { EdgePort, type EdgePortContext } from './edge-port.js';
import { EdgesOfService } from './edges-of-service.js';
import { PolicyTexts } from './policy-texts.js';
import { PortIndex } from './port-index.js';
import { Refresher } from './refresher.js';
import type { Serving } from './served-edge.js';

/** How long the gateway waits before it tries again to listen at an address. */
const LISTEN_AGAIN_MS = 5_000;

interface ChangedEdges {
  readonly account_id: string;
  readonly ids: readonly string[];
  readonly hostports: readonly string[];
}

/** Serves the edges at the hosts that this gateway owns, and follows their changes. */
export class EdgeServer implements GatewayPart, Followed {
  private readonly service: EdgesOfService;
  private readonly follower: Follower;
  private readonly texts = new PolicyTexts((hostports) => this.askAgain(hostports));
  private readonly ports = new PortIndex();
  private readonly addresses: ReadonlyMap<string, string>;
  private readonly shared: EdgePortContext;
  private readonly refresher = new Refresher<Serving>(
    (hostports) => this.service.at(hostports),
    (hostport, serving) => this.apply(hostport, serving),
    (hostport) => this.claimOf(hostport),
  );
  private readonly laterAt = new Map<string, NodeJS.Timeout>();
  private isStopped = false;

  constructor(private readonly context: GatewayContext) {
    const { serviceState, settings } = context;
    this.addresses = new Map(settings.gatewayHosts.map(({ host, listenAddress }) => [host, listenAddress]));
    this.service = new EdgesOfService(context.service, settings.edgeTrafficPolicies === 'ignore');
    const places = new Places([settings.maxEdgeConnections]);
    this.shared = { context, admissions: new Admissions(context.now), places };
    this.follower = new Follower((...stream) => context.service.changes('edges/changes', ...stream), this);
    serviceState.on('following', () => void this.openAll().catch((error) => this.follower.fail(error)));
    serviceState.on('closed', () => this.closeAll());
  }

  /** Does not wait for the service, which may be away. */
  async start(): Promise<void> {
    void this.follower.start();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.closeAll();
    await this.follower.stop();
    await this.refresher.idle();
    // A refresh that was under way may have opened a port.
    this.closeAll();
  }

  /** Asks about the known ports first: an edge may have changed while the gateway heard of no change. */
  async recheck(): Promise<void> {
    await this.refresher.refresh(this.ports.hostports);
  }

  async changed(data: unknown): Promise<void> {
    await this.refreshSome(data as ChangedEdges);
  }

  followed(): void {
    this.context.serviceState.followed('edges/changes');
  }

  lost(reason: unknown): void {
    this.context.serviceState.lost('edges/changes', reason);
  }

  private async openAll(): Promise<void> {
    const { gatewayHosts } = this.context.settings;
    const listed = await Promise.all(
      gatewayHosts.map(async ({ host }) => (await this.service.portsOf(host)).map((port) => `${host}:${port}`)),
    );
    const hostports = new Set([...this.ports.hostports, ...listed.flat().filter((one) => this.endpointOf(one))]);
    await this.refresher.refresh(hostports);
    this.context.log.line('info', { hostports: hostports.size }, 'all edges are as the service says');
  }

  private async refreshSome({ account_id, ids, hostports }: ChangedEdges): Promise<void> {
    const held = this.ports.concernedBy(ids);
    const own = hostports.filter((hostport) => this.endpointOf(hostport) !== undefined);
    await this.refresher.refresh(new Set([...own, ...held.map(({ hostport }) => hostport)]), account_id);
  }

  /** Ports that are served are urgent, since a client may have lost its right. */
  private claimOf(hostport: string) {
    const port = this.ports.get(hostport);
    return { account: port?.accountId ?? '', isUrgent: port?.isServing === true };
  }

  private async apply(hostport: string, told: Serving): Promise<void> {
    const at = this.endpointOf(hostport);
    if (at === undefined || this.isStopped) return;
    const port = this.ports.get(hostport) ?? new EdgePort(hostport, at, this.shared);
    const serving = this.texts.hold(hostport, told);
    this.ports.set(port, serving.concerns);
    const canListen = await port.apply(serving, this.context.serviceState.isFollowing);
    if (!canListen) this.listenLater(hostport);
  }

  /**
   * There is one timer for each hostport. Otherwise each change of an edge would add a timer that starts itself again.
   */
  private listenLater(hostport: string): void {
    clearTimeout(this.laterAt.get(hostport));
    const again = (): void => {
      this.laterAt.delete(hostport);
      this.askAgain([hostport]);
    };
    this.laterAt.set(hostport, setTimeout(again, LISTEN_AGAIN_MS).unref());
  }

  /** Without an answer the follower begins again, and asks about all ports. */
  private askAgain(hostports: readonly string[]): void {
    if (!this.isStopped) this.refresher.refresh(hostports).catch((error) => this.follower.fail(error));
  }

  /** Where the gateway listens for a hostport; undefined if the hostport is not one of this gateway. */
  private endpointOf(hostport: string): Endpoint | undefined {
    const colon = hostport.lastIndexOf(':');
    const [name, port] = [hostport.slice(0, colon), Number(hostport.slice(colon + 1))];
    const address = this.addresses.get(name);
    if (address === undefined || this.context.ports.refusal('edges', port) !== undefined) return undefined;
    return { address, port };
  }

  private closeAll(): void {
    for (const port of this.ports.all) port.close();
  }
}
