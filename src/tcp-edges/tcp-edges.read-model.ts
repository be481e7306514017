import type { Pool } from 'pg';
import { coalesced, type Ref } from '../database/coalesce.js';
import { queryNamed } from '../database/query.js';
import {
  ENTITY_COLUMNS,
  type Entity,
  type EntityRow,
  type ReadModel,
  type Row,
  type Table,
} from '../log/read-model.js';
import { EntityQueries } from '../resources/entity-queries.js';
import { evolve, type TcpEdge, type TcpEdgeEvent } from './tcp-edge.js';

const STATE_COLUMNS = ['description', 'metadata', 'hostports', 'backend', 'ip_restriction', 'traffic_policy'] as const;

/** The row holds the state under the same names, lists and modules as jsonb. */
type TcpEdgeRow = EntityRow & TcpEdge;

const EDGES: Table<TcpEdge> = {
  name: 'tcp_edges',
  columns: [...ENTITY_COLUMNS, ...STATE_COLUMNS],
  primaryKey: ['account_id', 'id'],
  rowsOf: (entity) => [rowOf(entity)],
  exclusiveValuesOf: () => [],
};

/** Field by field: replay does this for every edge, and spreads would cost it five times as much. */
function rowOf({ accountId, id, version, createdAt, state }: Entity<TcpEdge>): Row {
  return {
    account_id: accountId,
    id,
    version,
    created_at: createdAt,
    description: state.description,
    metadata: state.metadata,
    hostports: state.hostports,
    backend: state.backend,
    ip_restriction: state.ip_restriction,
    traffic_policy: state.traffic_policy,
  };
}

const stateOf = ({
  description,
  metadata,
  hostports,
  backend,
  ip_restriction,
  traffic_policy,
}: TcpEdgeRow): TcpEdge => ({
  description,
  metadata,
  hostports,
  backend,
  ip_restriction,
  traffic_policy,
});

/** Where each hostport is listed: one row for an edge and a canonical hostport, however often and in whatever spelling. */
const HOSTPORTS: Table<TcpEdge> = {
  name: 'tcp_edge_hostports',
  columns: ['account_id', 'edge_id', 'hostport', 'exclusive'],
  primaryKey: ['account_id', 'edge_id', 'hostport'],
  rowsOf: hostportRows,
  exclusiveValuesOf: (row) => (row.exclusive === true ? [`hostport:${row.hostport}`] : []),
};

function hostportRows({ accountId, id, state }: Entity<TcpEdge>): Row[] {
  const rows = state.hostports.map(({ canonical, exclusive }): [string, Row] => [
    canonical,
    { account_id: accountId, edge_id: id, hostport: canonical, exclusive },
  ]);
  return [...new Map(rows).values()];
}

export const tcpEdgesReadModel: ReadModel<TcpEdge, TcpEdgeEvent> = {
  streamPrefixes: ['edgtcp'],
  events: { 'tcp_edge_created.v1': {}, 'tcp_edge_updated.v1': {}, 'tcp_edge_deleted.v1': { isEnd: true } },
  evolve,
  tables: [EDGES, HOSTPORTS],
};

/** The unique index that strict mode writes into; violated when two edges race for one hostport. */
export const EXCLUSIVE_HOSTPORT_CONSTRAINT = 'tcp_edge_hostports_exclusive';

/** Any account may list any hostport, so how many do is not ours to decide: the oldest of them are answered. */
export const MAX_EDGES_OF_A_HOSTPORT = 100;

const BY_HOSTPORTS = {
  name: 'tcp_edges_by_hostports',
  text: `select l.hostport, l.account_id as "accountId", l.edge_id as id from unnest($1::text[]) as wanted(hostport)
    cross join lateral (
      select t.hostport, t.account_id, t.edge_id from tcp_edge_hostports t
      where t.hostport = wanted.hostport order by t.edge_id limit ${MAX_EDGES_OF_A_HOSTPORT}
    ) l
    order by l.hostport, l.edge_id`,
};

/** What GET and LIST answer, and what handlers decide on. */
export class TcpEdges extends EntityQueries<TcpEdge, TcpEdgeRow> {
  constructor(pool: Pool) {
    super(pool, EDGES, 'edgtcp', stateOf);
  }

  /** The edges of every account that list this canonical hostport, oldest first, at most 100. For gateways: what a caller sees is one account's. */
  async listByHostport(canonical: string): Promise<readonly Ref[]> {
    return (await this.byHostport(canonical)) ?? [];
  }

  private readonly byHostport = coalesced<string, readonly Ref[]>(
    (canonical) => canonical,
    async (canonicals) => {
      const { rows } = await queryNamed<Ref & { hostport: string }>(this.pool, BY_HOSTPORTS, [
        [...new Set(canonicals)],
      ]);
      const refs = new Map<string, Ref[]>();
      for (const { hostport, accountId, id } of rows) {
        const found = refs.get(hostport);
        if (found === undefined) refs.set(hostport, [{ accountId, id }]);
        else found.push({ accountId, id });
      }
      return refs;
    },
  );
}
