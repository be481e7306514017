import { Problem } from '../../kernel/problem.js';
import { MAX_IP_POLICIES } from '../../rules/index.js';
import { updatedEvents } from '../resources/changed-fields.js';
import { type Expiring, type ExpiryChange, expiryOf, refusePast } from '../resources/expiry/expiry.js';
import type { Backend, IpRestriction, TrafficPolicy } from './edge-modules.js';
import type { Hostport } from './hostport.js';

/**
 * Storage format: the log holds these types. Add fields as optional; for any other change add a new version.
 * The state is the data of the created event but for the type of its expiry, so both have the same names.
 */
export type TcpEdgeEvent =
  | { readonly type: 'tcp_edge_created.v1'; readonly data: CreatedTcpEdge }
  | {
      readonly type: 'tcp_edge_updated.v1';
      /** Only the changed fields. Lists and modules are complete; a removed module is null. */
      readonly data: TcpEdgeFields;
    }
  | { readonly type: 'tcp_edge_deleted.v1'; readonly data: Readonly<Record<string, never>> };

/**
 * A hostport in the list of an edge. The log holds `canonical` beside `text`, because the rules for the canonical form
 * may change and replay must still make the rows that were written at the time.
 */
export interface ListedHostport extends Hostport {
  /** Added in strict mode: no other edge of the deployment may list it. Unchanged while the edge lists the hostport. */
  readonly exclusive: boolean;
  /**
   * RFC 3339, UTC. Unchanged while the edge lists the hostport: among the edges of an account, the one that listed it
   * first serves it. Absent in earlier events: since the edge was created.
   */
  readonly listed_at?: string;
}

/** The hostports of an edge, and the modules that handle connections to them. */
interface LastingTcpEdge {
  readonly description: string;
  readonly metadata: string;
  readonly hostports: readonly ListedHostport[];
  readonly backend: Backend | null;
  readonly ip_restriction: IpRestriction | null;
  readonly traffic_policy: TrafficPolicy | null;
}

/** The table has a column for each field. Once an edge has expired, no gateway serves it. */
export interface TcpEdge extends LastingTcpEdge, Expiring {}

interface CreatedTcpEdge extends LastingTcpEdge, Partial<ExpiryChange> {}

/** What a change gives, as events have it. */
export type TcpEdgeFields = Partial<LastingTcpEdge & ExpiryChange>;

export function evolve(state: TcpEdge | undefined, event: TcpEdgeEvent): TcpEdge | undefined {
  switch (event.type) {
    case 'tcp_edge_created.v1':
      return stateOf(event.data);
    case 'tcp_edge_updated.v1':
      return state && { ...state, ...stateOf(event.data) };
    case 'tcp_edge_deleted.v1':
      return undefined;
  }
}

const stateOf = <Fields extends Partial<ExpiryChange>>({ expires_at, ...fields }: Fields) =>
  expires_at === undefined ? fields : { ...fields, ...expiryOf({ expires_at }) };

/** Throws Problem for a new expiry that is over. `at` is the time of the event. */
export function refusePastExpiry({ expires_at }: TcpEdgeFields, at: Date, edge?: TcpEdge): void {
  if (expires_at != null && expires_at !== edge?.expires_at?.toISOString()) refusePast(new Date(expires_at), at);
}

/**
 * An absent field becomes empty; an absent module becomes null. Throws Problem. No decision of an edge checks its caller: an edge has no
 * owner and the API requires no role, so every principal of the account may create, change and delete edges.
 */
export function create(fields: TcpEdgeFields): readonly TcpEdgeEvent[] {
  refuseTooManyPolicies(fields, EMPTY);
  return [{ type: 'tcp_edge_created.v1', data: { ...EMPTY, ...fields } }];
}

const EMPTY: LastingTcpEdge = {
  description: '',
  metadata: '',
  hostports: [],
  backend: null,
  ip_restriction: null,
  traffic_policy: null,
};

/** An absent field stays as it is. A module replaces the old module as a whole; null removes it. Throws Problem. */
export function update(edge: TcpEdge | undefined, changes: TcpEdgeFields): readonly TcpEdgeEvent[] {
  if (edge === undefined) throw tcpEdgeNotFound();
  refuseTooManyPolicies(changes, edge);
  const { hostports } = changes;
  const wanted = hostports === undefined ? changes : { ...changes, hostports: keepListed(hostports, edge.hostports) };
  return updatedEvents('tcp_edge_updated.v1', wanted, { ...edge, expires_at: edge.expires_at?.toISOString() ?? null });
}

/** What is stored may be repeated: earlier versions had another maximum. */
function refuseTooManyPolicies({ ip_restriction }: TcpEdgeFields, before: LastingTcpEdge): void {
  const ids = ip_restriction?.ip_policy_ids ?? [];
  const isRepeated = JSON.stringify(ids) === JSON.stringify(before.ip_restriction?.ip_policy_ids);
  if (ids.length <= MAX_IP_POLICIES || isRepeated) return;
  const sentence = `The IP restriction names ${ids.length} IP policies; the maximum is ${MAX_IP_POLICIES}.`;
  throw new Problem('ip_policy_id_invalid', sentence);
}

/** Throws Problem. */
export function remove(edge: TcpEdge | undefined): readonly TcpEdgeEvent[] {
  if (edge === undefined) throw tcpEdgeNotFound();
  return [{ type: 'tcp_edge_deleted.v1', data: {} }];
}

/** The same for an unknown id and for an id of another account: the existence of an edge is itself a secret. */
export const tcpEdgeNotFound = (): Problem => new Problem('edge_not_found', 'Resource not found');

/**
 * A hostport that stays listed stays what it is, in any spelling: the edge goes on to serve it, and edges that have shared it
 * since before strict mode can still be edited.
 */
function keepListed(wanted: readonly ListedHostport[], listed: readonly ListedHostport[]): ListedHostport[] {
  const known = new Map(listed.map((hostport) => [hostport.canonical, hostport]));
  return wanted.map((hostport) => {
    const { text } = hostport;
    return { ...(known.get(hostport.canonical) ?? hostport), text };
  });
}
