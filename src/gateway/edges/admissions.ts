import { eventLoop } from '../../kernel/event-loop.js';
import { addressText, decideTcpConnect, sourceOf, type TcpConnection } from '../../rules/index.js';
import { type Admission, admissionBy, LET_IN, NOT_ALLOWED, UNREADABLE } from './admission.js';
import { ClientQuestions } from './client-questions.js';
import type { EdgeCheck } from './edge-answer.js';
import type { EdgeConnection } from './edge-connection.js';
import type { AskedClient, EdgesOfService } from './edges-of-service.js';
import type { ServedEdge } from './served-edge.js';
import type { Visit } from './visit.js';

/** Decides whether an edge lets a client in: by its IP rules, then by its traffic policy. */
export class Admissions {
  private readonly questions = new ClientQuestions<EdgeCheck | undefined>();

  constructor(
    private readonly service: Pick<EdgesOfService, 'check'>,
    private readonly now: () => number,
  ) {}

  /**
   * Decides by the edge that is served at the turn of the connection. Rejects with Unavailable if only the service can
   * decide, and does not answer.
   */
  async decide(visit: Visit): Promise<Admission> {
    while (!visit.isGone) {
      const edge = visit.look();
      const atOnce = this.decideAtOnce(visit.connection, edge);
      if (atOnce !== undefined || edge === undefined) return atOnce ?? NOT_ALLOWED;
      const admission = (await this.decideByService(visit, edge)) ?? (await this.decideInTurn(visit, edge));
      if (admission !== undefined) return admission;
    }
    return NOT_ALLOWED;
  }

  /** What neither needs a turn nor a question. */
  decideAtOnce(connection: EdgeConnection, edge: ServedEdge | undefined): Admission | undefined {
    const isLetIn = edge !== undefined && connection.belongsTo(edge) && connection.isLetInBy(edge);
    if (isLetIn === false) return NOT_ALLOWED;
    return isLetIn === true && edge?.policy === undefined ? LET_IN : undefined;
  }

  /** Whether only the service can decide, by the IP rules or by the traffic policy. */
  isAsked(connection: EdgeConnection, edge: ServedEdge): boolean {
    return edge.policy?.isAsked === true || connection.isLetInBy(edge) === 'ask';
  }

  /** Undefined: the IP rules let the client in, and the traffic policy decides here. */
  private async decideByService(visit: Visit, edge: ServedEdge): Promise<Admission | undefined> {
    const { policy } = edge;
    if (!this.isAsked(visit.connection, edge)) return undefined;
    const check = await this.ask(visit, edge);
    if (check === undefined) return NOT_ALLOWED;
    const { allowed, reason, traffic_policy } = check;
    if (!allowed && reason !== 'traffic_policy') return NOT_ALLOWED;
    if (policy === undefined) return LET_IN;
    if (!policy.isAsked) return undefined;
    return traffic_policy == null ? UNREADABLE : admissionBy(traffic_policy);
  }

  /** Undefined: the edge has changed before its turn, and the service must be asked about it. */
  private decideInTurn(visit: Visit, asked: ServedEdge): Promise<Admission | undefined> {
    const { connection, hostport, isReview } = visit;
    return eventLoop.run(
      [asked.accountId, 'edges', hostport],
      () => {
        if (visit.isGone) return undefined;
        const edge = visit.look();
        const atOnce = this.decideAtOnce(connection, edge);
        if (atOnce !== undefined || edge === undefined) return atOnce;
        const admission = this.decideHere(connection, edge);
        const isUnsure = edge !== asked && connection.isLetInBy(edge) === 'ask';
        return isUnsure && admission?.refusal === undefined ? undefined : admission;
      },
      { isUrgent: isReview },
    );
  }

  /** Undefined: only the service can decide. */
  private decideHere(connection: EdgeConnection, edge: ServedEdge): Admission | undefined {
    const { policy } = edge;
    if (policy === undefined || policy.isAsked) return undefined;
    const begun = this.begun(connection, edge);
    return begun === undefined ? NOT_ALLOWED : admissionBy(decideTcpConnect(policy.policy, begun, policy.ipPolicies));
  }

  private begun({ client, server, startedAtMs }: EdgeConnection, { id }: ServedEdge): TcpConnection | undefined {
    if (client === undefined || server === undefined) return undefined;
    return { client, server, startedAtMs, endpointId: id, nowMs: this.now() };
  }

  private async ask(visit: Visit, edge: ServedEdge): Promise<EdgeCheck | undefined> {
    const { connection, hostport, isReview } = visit;
    const { client, server, startedAtMs } = connection;
    if (client === undefined || server === undefined) return undefined;
    // Only a traffic policy can tell two clients at the same address apart.
    const asked =
      edge.policy?.isAsked === true
        ? wholeOf({ client, server, startedAtMs })
        : { source: addressText(client.address) };
    const text = JSON.stringify([hostport, edge.id, asked]);
    return this.questions.ask(
      { accountId: edge.accountId, source: sourceOf(connection.source.address), isReview, text },
      () => !visit.isGone,
      () => this.service.check(hostport, edge.id, asked),
    );
  }
}

type Ends = Pick<TcpConnection, 'client' | 'server' | 'startedAtMs'>;

/** All that tells a connection apart from others. */
const wholeOf = ({ client, server, startedAtMs }: Ends): AskedClient => ({
  source: endpointText(client),
  destination: endpointText(server),
  started_at: new Date(startedAtMs).toISOString(),
});

function endpointText({ address, port }: Ends['client']): string {
  const text = addressText(address);
  return address.bits === 128 ? `[${text}]:${port}` : `${text}:${port}`;
}
