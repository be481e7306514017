import { admitClient, PolicyReader, type TcpConnection } from '../../rules/index.js';
import { type Admission, admissionOf, NOT_ALLOWED } from './admission.js';
import { DecisionTurns } from './decision-turns.js';
import type { EdgeConnection } from './edge-connection.js';
import type { ServedEdge } from './served-edge.js';

/** A hostport, with the edge that is served there now. */
export interface ServedAt {
  readonly hostport: string;
  readonly served: ServedEdge | undefined;
}

/**
 * Admits the clients of edges or refuses them, by the edge that is served when they have their turn. A policy that was not
 * read lately is read then.
 */
export class Admissions {
  private readonly turns = new DecisionTurns();
  private readonly reader = new PolicyReader();
  /** The open connections about which is decided again. */
  private readonly waiting = new WeakSet<EdgeConnection>();

  constructor(private readonly now: () => number) {}

  async admit(connection: EdgeConnection, at: ServedAt): Promise<Admission> {
    const admission = await this.inTurn(connection, at, false, () => this.decide(connection, at.served));
    return admission ?? NOT_ALLOWED;
  }

  /**
   * Decides again about an open connection after a change, and ends it if it is refused. One that waits already waits
   * once: what is served in its turn counts.
   */
  async admitAgain(connection: EdgeConnection, at: ServedAt): Promise<void> {
    if (!isOf(connection, at.served)) return connection.end('not_allowed');
    if (this.waiting.has(connection)) return;
    this.waiting.add(connection);
    try {
      await this.inTurn(connection, at, true, () => {
        this.waiting.delete(connection);
        const { refusal } = this.decide(connection, at.served);
        if (refusal !== undefined) connection.end(refusal);
      });
    } catch (error) {
      connection.end('internal');
      throw error;
    }
  }

  private inTurn<Decision>(
    connection: EdgeConnection,
    { hostport }: ServedAt,
    isReview: boolean,
    decide: () => Decision,
  ): Promise<Decision | undefined> {
    const { accountId } = connection.edge;
    return this.turns.take({ accountId, hostport, isReview }, () => !connection.socket.destroyed, decide);
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

const isOf = (connection: EdgeConnection, edge: ServedEdge | undefined): boolean =>
  edge !== undefined && connection.belongsTo(edge);
