import type { Pool } from 'pg';
import { coalesced, type Ref } from '../database/coalesce.js';
import { queryNamed } from '../database/query.js';
import { ENTITY_COLUMNS, type Entity, type ReadModel, type Row, type Table } from '../log/read-model.js';
import { evolve, type TcpEdge, type TcpEdgeEvent } from './tcp-edge.js';

const EDGES: Table<TcpEdge> = {
  name: 'tcp_edges',
  columns: [
    ...ENTITY_COLUMNS,
    ...['description', 'metadata', 'hostports', 'backend', 'ip_restriction', 'traffic_policy'],
  ],
  primaryKey: ['account_id', 'id'],
  rowsOf: (entity) => [entity],
  exclusiveValuesOf: () => [],
};

/** One row for each edge and canonical hostport, even if the edge lists it in several spellings. */
const HOSTPORTS: Table<TcpEdge> = {
  name: 'tcp_edge_hostports',
  columns: ['account_id', 'edge_id', 'hostport', 'exclusive'],
  primaryKey: ['account_id', 'edge_id', 'hostport'],
  rowsOf: hostportRows,
  exclusiveValuesOf: (row) => (row.exclusive === true ? [`hostport:${row.hostport}`] : []),
};

function hostportRows({ account_id, id, hostports }: Entity<TcpEdge>): Row[] {
  const rows = hostports.map(({ canonical, exclusive }): [string, Row] => [
    canonical,
    { account_id, edge_id: id, hostport: canonical, exclusive },
  ]);
  return [...new Map(rows.sort(([a], [b]) => (a < b ? -1 : 1))).values()];
}

export const tcpEdgesReadModel: ReadModel<TcpEdge, TcpEdgeEvent> = {
  streamPrefixes: ['edgtcp'],
  events: {
    'tcp_edge_created.v1': { isStart: true },
    'tcp_edge_updated.v1': {},
    'tcp_edge_deleted.v1': { isEnd: true },
  },
  evolve,
  tables: [EDGES, HOSTPORTS],
};

/** The unique index over exclusive hostports; violated if two edges race for one hostport. */
export const EXCLUSIVE_HOSTPORT_CONSTRAINT = 'tcp_edge_hostports_exclusive';

/** Any number of edges may list one hostport outside strict mode. An answer holds the oldest edges. */
export const MAX_EDGES_OF_A_HOSTPORT = 100;

const BY_HOSTPORTS = {
  name: 'tcp_edges_by_hostports',
  text: `select l.hostport, l.account_id as "accountId", l.edge_id as id from unnest($1::text[]) as wanted(hostport)
    cross join lateral (
      select t.hostport, t.account_id, t.edge_id from tcp_edge_hostports t
      where t.hostport = wanted.hostport and by_index(t.edge_id) order by t.edge_id limit ${MAX_EDGES_OF_A_HOSTPORT}
    ) l
    order by l.hostport, l.edge_id`,
};

/** Finds the edges of all accounts that list a hostport. For gateways and strict mode: callers see one account only. */
export class EdgesByHostport {
  constructor(private readonly pool: Pool) {}

  /** The edges that list this canonical hostport, oldest first, at most MAX_EDGES_OF_A_HOSTPORT. */
  async list(canonical: string): Promise<readonly Ref[]> {
    return (await this.find(canonical)) ?? [];
  }

  private readonly find = coalesced<string, readonly Ref[]>(
    (canonical) => canonical,
    async (canonicals) => {
      const wanted = [...new Set(canonicals)];
      const { rows } = await queryNamed<Ref & { hostport: string }>(this.pool, BY_HOSTPORTS, [wanted]);
      const refs = new Map<string, Ref[]>();
      for (const { hostport, ...ref } of rows) refs.set(hostport, [...(refs.get(hostport) ?? []), ref]);
      return refs;
    },
  );
}
