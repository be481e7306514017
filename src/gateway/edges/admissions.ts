import { eventLoop } from '../../kernel/event-loop.js';
import type { Path } from '../../kernel/fair-queue.js';
import { admitClient, PolicyReader, type TcpConnection } from '../../rules/index.js';
import { type Admission, admissionOf, NOT_ALLOWED } from './admission.js';
import type { EdgeConnection } from './edge-connection.js';
import type { ServedEdge } from './served-edge.js';

/** A hostport, with the edge that is served there now. */
export interface ServedAt {
  readonly hostport: string;
  readonly served: ServedEdge | undefined;
}

/**
 * Admits the clients of edges or refuses them, each in a piece of work of the account, by the edge that is served then. A
 * policy that was not read lately is read in it.
 */
export class Admissions {
  private readonly reader = new PolicyReader();
  /** The open connections about which is decided again. */
  private readonly waiting = new WeakSet<EdgeConnection>();

  constructor(private readonly now: () => number) {}

  async admit(connection: EdgeConnection, at: ServedAt): Promise<Admission> {
    const decide = () => (connection.socket.destroyed ? NOT_ALLOWED : this.decide(connection, at.served));
    return eventLoop.run(pathOf(connection, at), decide);
  }

  /**
   * Decides again about an open connection after a change, and ends it if it is refused. One that waits already waits
   * once: what is served then counts. Such a decision goes before those about newcomers.
   */
  async admitAgain(connection: EdgeConnection, at: ServedAt): Promise<void> {
    if (!isOf(connection, at.served)) return connection.end('not_allowed');
    if (this.waiting.has(connection)) return;
    this.waiting.add(connection);
    const decide = (): void => {
      this.waiting.delete(connection);
      if (connection.socket.destroyed) return;
      const { refusal } = this.decide(connection, at.served);
      if (refusal !== undefined) connection.end(refusal);
    };
    try {
      await eventLoop.run(pathOf(connection, at), decide, { isUrgent: true });
    } catch (error) {
      connection.end('internal');
      throw error;
    }
  }

  private decide(connection: EdgeConnection, edge: ServedEdge | undefined): Admission {
    const begun = edge === undefined ? undefined : this.begun(connection, edge);
    if (edge === undefined || begun === undefined || !isOf(connection, edge)) return NOT_ALLOWED;
    const { restriction, policyText } = edge;
    const trafficPolicy = policyText === undefined ? undefined : this.reader.read(policyText);
    return admissionOf(admitClient({ restriction, trafficPolicy, ipPolicies: edge.ipPolicies() }, begun));
  }

  private begun({ client, server, startedAtMs }: EdgeConnection, { id }: ServedEdge): TcpConnection | undefined {
    if (client === undefined || server === undefined) return undefined;
    return { client, server, startedAtMs, endpointId: id, nowMs: this.now() };
  }
}

const pathOf = ({ edge }: EdgeConnection, { hostport }: ServedAt): Path => [edge.accountId, 'edges', hostport];

const isOf = (connection: EdgeConnection, edge: ServedEdge | undefined): boolean =>
  edge !== undefined && connection.belongsTo(edge);
