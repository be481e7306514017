import { decideTcpConnect, type PolicyReader, type TcpConnection, UnreadablePolicy } from '../../rules/index.js';
import { sourceOf } from '../ssh/strangers.js';
import { type Admission, admissionBy, LET_IN, NOT_ALLOWED, UNREADABLE } from './admission.js';
import { ClientQuestions } from './client-questions.js';
import { DecisionTurns } from './decision-turns.js';
import type { EdgeCheck } from './edge-answer.js';
import type { EdgeConnection } from './edge-connection.js';
import type { EdgesOfService } from './edges-of-service.js';
import type { ServedEdge } from './served-edge.js';

/** Decides whether an edge lets a client in: by its IP rules, then by its traffic policy. */
export class Admissions {
  private readonly questions = new ClientQuestions<EdgeCheck | undefined>();
  private readonly turns = new DecisionTurns();

  constructor(
    private readonly service: Pick<EdgesOfService, 'check'>,
    private readonly policies: PolicyReader,
    private readonly now: () => number,
  ) {}

  /** Rejects with Unavailable if only the service can decide, and does not answer. */
  async decide(connection: EdgeConnection, edge: ServedEdge, hostport: string): Promise<Admission> {
    const first = await this.decideFirst(connection, edge, hostport);
    const isWanted = (): boolean => !connection.socket.destroyed;
    return first ?? (await this.decideHere(connection, edge, hostport, isWanted)) ?? NOT_ALLOWED;
  }

  /**
   * Decides by the IP rules, and by a traffic policy about which only the service can decide. Undefined: the traffic
   * policy decides here.
   */
  async decideFirst(connection: EdgeConnection, edge: ServedEdge, hostport: string): Promise<Admission | undefined> {
    const { policy } = edge;
    const isLetIn = connection.belongsTo(edge) && connection.isLetInBy(edge);
    if (isLetIn === false) return NOT_ALLOWED;
    if (isLetIn === true && policy?.isAsked !== true) return policy === undefined ? LET_IN : undefined;
    const check = await this.ask(connection, edge, hostport);
    if (check === undefined) return NOT_ALLOWED;
    const { allowed, reason, traffic_policy } = check;
    if (!allowed && reason !== 'traffic_policy') return NOT_ALLOWED;
    if (policy === undefined) return LET_IN;
    if (!policy.isAsked) return undefined;
    return traffic_policy == null ? UNREADABLE : admissionBy(traffic_policy);
  }

  /** Decides by the traffic policy of the edge, in a turn of its account. Undefined: the decision is no longer wanted. */
  async decideHere(
    connection: EdgeConnection,
    edge: ServedEdge,
    hostport: string,
    isWanted: () => boolean,
  ): Promise<Admission | undefined> {
    const { accountId, policy } = edge;
    if (policy === undefined) return LET_IN;
    const reading = await this.policies.read(policy.text, accountId);
    if (reading instanceof UnreadablePolicy) return UNREADABLE;
    return this.turns.take({ accountId, hostport }, isWanted, () => {
      const begun = this.begun(connection, edge);
      return begun === undefined ? NOT_ALLOWED : admissionBy(decideTcpConnect(reading, begun, policy.ipPolicies));
    });
  }

  private begun({ client, server, startedAtMs }: EdgeConnection, { id }: ServedEdge): TcpConnection | undefined {
    if (client === undefined || server === undefined) return undefined;
    return { client, server, startedAtMs, endpointId: id, nowMs: this.now() };
  }

  private ask(connection: EdgeConnection, edge: ServedEdge, hostport: string): Promise<EdgeCheck | undefined> {
    const { address, port } = connection.source;
    // Only a traffic policy can tell two clients at the same address apart.
    const source = edge.policy?.isAsked === true ? withPort(address, port) : address;
    const asked = { accountId: edge.accountId, source: sourceOf(address), text: `${hostport} ${edge.id} ${source}` };
    const isWanted = (): boolean => !connection.socket.destroyed;
    return this.questions.ask(asked, isWanted, () => this.service.check(hostport, edge.id, source));
  }
}

const withPort = (address: string, port: number): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
