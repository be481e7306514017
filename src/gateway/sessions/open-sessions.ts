import { IdSource } from '../../kernel/ids.js';
import type { TargetBody } from '../service-client.js';

/** What is known of a session when its client logs in. The names are those of a report. */
export interface SessionFacts {
  readonly account_id: string;
  readonly credential_id: string;
  readonly fingerprint: string;
  readonly source?: string;
  readonly client?: string;
}

/** What is known of a tunnel when it opens. */
export interface TunnelFacts {
  readonly credential_id: string;
  readonly targets: readonly TargetBody[];
}

/** A connection to an edge, or to a name, that a tunnel carried, at its end. */
export interface CarriedConnection {
  readonly account_id: string;
  readonly edge_id?: string;
  /** Of the edge. */
  readonly hostport?: string;
  /** The name. */
  readonly host?: string;
  /** Address and port. */
  readonly client: string;
  readonly session_id: string;
  readonly tunnel_id: string;
  readonly credential_id: string;
  readonly ms: number;
  readonly bytes_in: number;
  readonly bytes_out: number;
  readonly reason: string;
  /** What the traffic policy of the edge logged, as JSON, which takes less memory than its objects. */
  readonly logs?: string;
}

/** Somebody stopped a session. */
export interface Stop {
  readonly account_id: string;
  readonly session_id: string;
  /** The client is expected to come back at once. */
  readonly restart: boolean;
  /** The name or the id of who did it. */
  readonly by: string;
}

/** A session or a tunnel has ended, and the service has to be told. */
export interface Ended {
  readonly what: Open;
  readonly at: number;
  readonly reason: string;
  /** The service did not know it, so its begin is told again with its end. */
  isToldWhole: boolean;
}

export interface EndedConnection {
  readonly facts: CarriedConnection;
  readonly at: number;
}

/** The most that is kept while the service takes no report. 10,000 clients with two binds can leave at the same time. */
const MAX_ENDS = 30_000;
const MAX_CONNECTIONS = 10_000;

/** A session or a tunnel of it, from its begin to its end. */
export abstract class Open {
  /** The list of a report that tells its begin. */
  abstract readonly kind: 'sessions' | 'tunnels';
  /** The session of a tunnel. */
  abstract readonly session: OpenSession | undefined;
  readonly used = { bytes_in: 0, bytes_out: 0, connections: 0 };
  readonly since: number;
  isOpen = true;
  /** The number of the last report that told its begin. 0: none did. */
  toldIn = 0;
  /** The service refuses its begin. */
  isRefused = false;
  /** The service has its end. */
  isGone = false;

  constructor(
    protected readonly all: OpenSessions,
    readonly id: string,
    readonly accountId: string,
    /** Further fields of the item that tells its begin. */
    readonly facts: object,
  ) {
    this.since = all.now();
  }

  /** It is not told about, since the service refuses its begin, or that of its session. */
  get isLeftOut(): boolean {
    return this.isRefused || this.session?.isRefused === true;
  }

  count(field: keyof Open['used'], amount: number): void {
    this.used[field] += amount;
    if (this.isOpen) this.all.usedMore.add(this);
  }
}

/** A connection that has logged in. */
export class OpenSession extends Open {
  override readonly kind = 'sessions';
  override readonly session = undefined;
  readonly tunnels = new Set<SessionTunnel>();
  /** Ends the connection, and tells its client why. */
  onStop: ((stop: Stop) => void) | undefined;
  private isStopped = false;

  open(facts: TunnelFacts): SessionTunnel {
    return this.all.openTunnel(this, facts);
  }

  /** The service may tell a stop twice. */
  stop(stop: Stop): void {
    if (this.isStopped) return;
    this.isStopped = true;
    this.onStop?.(stop);
  }

  /** Ends its tunnels too. */
  ended(reason: string): void {
    for (const tunnel of this.tunnels) tunnel.ended(reason);
    this.all.end(this, reason);
  }
}

/** A bind of a session. */
export class SessionTunnel extends Open {
  override readonly kind = 'tunnels';

  constructor(
    all: OpenSessions,
    id: string,
    override readonly session: OpenSession,
    facts: TunnelFacts,
  ) {
    super(all, id, session.accountId, { ...facts, session_id: session.id });
  }

  /** A session has used what its tunnels have. */
  override count(field: keyof Open['used'], amount: number): void {
    super.count(field, amount);
    this.session.count(field, amount);
  }

  ended(reason: string): void {
    this.all.end(this, reason);
  }
}

/** What is open at this gateway, and what the service has not been told yet. */
export class OpenSessions {
  private readonly byId = new Map<string, OpenSession>();
  /** Open, and in no report yet. */
  readonly untold = new Set<Open>();
  ended: Set<Ended> = new Set();
  readonly endedConnections = new Set<EndedConnection>();
  /** Open, and with other counters than those that were told. */
  readonly usedMore = new Set<Open>();
  droppedEnds = 0;
  droppedConnections = 0;
  /** Called when there is something to tell. */
  onNews: () => void = () => undefined;

  constructor(
    private readonly ids: Pick<IdSource, 'next'> = new IdSource(),
    readonly now = (): number => performance.now(),
  ) {}

  /** Whether something waits to be told. Counters wait for the next heartbeat. */
  get hasNews(): boolean {
    return this.untold.size + this.ended.size + this.endedConnections.size > 0;
  }

  open({ account_id, ...facts }: SessionFacts): OpenSession {
    const session = new OpenSession(this, this.ids.next('ts'), account_id, facts);
    this.byId.set(session.id, session);
    this.begin(session);
    return session;
  }

  openTunnel(session: OpenSession, facts: TunnelFacts): SessionTunnel {
    const tunnel = new SessionTunnel(this, this.ids.next('tn'), session, facts);
    session.tunnels.add(tunnel);
    this.begin(tunnel);
    return tunnel;
  }

  find(id: string): OpenSession | undefined {
    return this.byId.get(id);
  }

  /** Each session before its tunnels. What opens or ends meanwhile may be left out. */
  *all(): Generator<Open> {
    for (const session of this.byId.values()) {
      yield session;
      yield* session.tunnels;
    }
  }

  /** Does nothing if it has ended before. */
  end(what: OpenSession | SessionTunnel, reason: string): void {
    if (!what.isOpen) return;
    what.isOpen = false;
    if (what.kind === 'sessions') {
      this.byId.delete(what.id);
      what.onStop = undefined;
    } else what.session.tunnels.delete(what);
    this.untold.delete(what);
    this.usedMore.delete(what);
    const ended = { what, at: this.now(), reason: reasonCode(reason), isToldWhole: false };
    this.droppedEnds += keep(this.ended, ended, MAX_ENDS);
    this.onNews();
  }

  /** The service did not know what ended, so it is told again. A session must end after its tunnels. */
  takeBack(ends: readonly Ended[]): void {
    if (ends.length === 0) return;
    const tunnels = ends.filter(({ what }) => what.kind === 'tunnels');
    const sessions = ends.filter(({ what }) => what.kind === 'sessions');
    this.ended = new Set([...tunnels, ...this.ended, ...sessions]);
  }

  endAll(reason: string): void {
    for (const session of [...this.byId.values()]) session.ended(reason);
  }

  endConnection(facts: CarriedConnection): void {
    const ended = { facts: { ...facts, reason: reasonCode(facts.reason) }, at: this.now() };
    this.droppedConnections += keep(this.endedConnections, ended, MAX_CONNECTIONS);
    this.onNews();
  }

  private begin(what: Open): void {
    this.untold.add(what);
    this.onNews();
  }
}

/** Adds an item, and drops the oldest one if there are too many. Returns how many were dropped. */
function keep<Item>(items: Set<Item>, item: Item, max: number): number {
  items.add(item);
  const [oldest] = items;
  return items.size > max && oldest !== undefined && items.delete(oldest) ? 1 : 0;
}

/** The form that reports have. A service may refuse a bind for a reason that this gateway does not know. */
const reasonCode = (reason: string): string => reason.replace(/[^a-z_]/g, '_').slice(0, 64) || 'unknown';
