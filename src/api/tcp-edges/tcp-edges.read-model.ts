import type { Pool } from 'pg';
import { coalescedByAccount, onPrimary, queryNamed, type Ref } from '../../database/index.js';
import { claimValue, type Entity, entityTable, type ReadModel, type Row, type Table } from '../../event-log/index.js';
import { evolve, type TcpEdge, type TcpEdgeEvent } from './tcp-edge.js';

const COLUMNS = ['description', 'metadata', 'hostports', 'backend', 'ip_restriction', 'traffic_policy'] as const;

/** One row for each edge and canonical hostport, even if the edge lists it in several spellings. */
const HOSTPORTS: Table<TcpEdge> = {
  name: 'tcp_edge_hostports',
  columns: ['account_id', 'edge_id', 'hostport', 'exclusive', 'listed_at'],
  primaryKey: ['account_id', 'edge_id', 'hostport'],
  rowsOf: hostportRows,
  exclusiveValuesOf: (row) => (row.exclusive === true ? [`hostport:${row.hostport}`] : []),
  claimed: { kind: 'hostport', column: 'hostport' },
};

function hostportRows({ account_id, id, created_at, hostports }: Entity<TcpEdge>): Row[] {
  const rows = hostports.map(({ canonical, exclusive, listed_at }): [string, Row] => [
    canonical,
    {
      account_id,
      edge_id: id,
      hostport: canonical,
      exclusive,
      listed_at: listed_at === undefined ? created_at : new Date(listed_at),
    },
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
  tables: [entityTable<TcpEdge>('tcp_edges', COLUMNS), HOSTPORTS],
};

/** The unique index over exclusive hostports; violated if two edges race for one hostport. */
export const EXCLUSIVE_HOSTPORT_CONSTRAINT = 'tcp_edge_hostports_exclusive';

/**
 * Any number of edges of an account may list one hostport outside strict mode. An answer holds the edges that listed it
 * first.
 */
export const MAX_EDGES_OF_A_HOSTPORT = 100;

/** How many bytes of a traffic policy take as much of an answer as the name of an IP policy. */
export const POLICY_BYTES_OF_A_NAME = 256;

/** `$1`: the account whose edges are wanted, or '' for the edges of all accounts. */
const BY_HOSTPORTS = onPrimary({
  name: 'tcp_edges_by_hostports',
  text: `select l.hostport, l.account_id as "accountId", l.edge_id as id,
      coalesce(jsonb_array_length(e.ip_restriction -> 'ip_policy_ids'), 0)
        + ceil(coalesce(octet_length(e.traffic_policy ->> 'value'), 0) / ${POLICY_BYTES_OF_A_NAME}.0)::int as size
    from unnest($2::text[]) as wanted(hostport)
    cross join lateral (
      select t.hostport, t.account_id, t.edge_id, t.listed_at from tcp_edge_hostports t
      where t.hostport = wanted.hostport and t.account_id = coalesce(nullif($1, ''), t.account_id)
      order by t.listed_at, t.edge_id limit ${MAX_EDGES_OF_A_HOSTPORT}
    ) l
    cross join lateral (select * from tcp_edges e where e.account_id = l.account_id and e.id = l.edge_id limit 1) e
    order by l.listed_at, l.edge_id`,
});

/** An edge, and what it takes of an answer: see POLICY_BYTES_OF_A_NAME. */
export interface EdgeOfHostport extends Ref {
  /** Without the IP policies that its traffic policy names: only who reads the text knows these. */
  readonly size: number;
}

/** `$1`: an account. Its own claims are not wanted. */
const CLAIMED_BY_OTHERS = {
  name: 'hostports_of_other_accounts',
  text: `select wanted.hostport, has_reserved($1, other.value) as "isReserved"
    from unnest($2::text[], $3::text[]) as wanted(hostport, value) cross join lateral (select c.value from claims c
      where c.value = wanted.value and c.account_id <> $1 limit 1) other`,
};

/** Hostports that edges of other accounts list. */
export interface HostportsOfOthers {
  /** An account cannot list these too. */
  readonly taken: ReadonlySet<string>;
  /** It can list these all the same, since it has reserved them. */
  readonly reserved: ReadonlySet<string>;
}

/** Finds the edges of all accounts that list a hostport. For gateways and strict mode: callers see one account only. */
export class EdgesByHostport {
  constructor(private readonly pool: Pool) {}

  /** The edges that list this canonical hostport, at most MAX_EDGES_OF_A_HOSTPORT, from the one that listed it first on. */
  async list(hostport: string, accountId = ''): Promise<readonly EdgeOfHostport[]> {
    return (await this.find({ accountId, id: hostport })) ?? [];
  }

  /** The ones of these canonical hostports that edges of other accounts list. */
  async ofOtherAccounts(accountId: string, hostports: readonly string[]): Promise<HostportsOfOthers> {
    const values = [accountId, hostports, hostports.map((hostport) => claimValue('hostport', hostport))];
    const { rows } = await queryNamed<{ hostport: string; isReserved: boolean }>(this.pool, CLAIMED_BY_OTHERS, values);
    const all = (wanted: boolean) =>
      new Set(rows.filter(({ isReserved }) => isReserved === wanted).map(({ hostport }) => hostport));
    return { taken: all(false), reserved: all(true) };
  }

  private readonly find = coalescedByAccount<readonly EdgeOfHostport[]>(async (accountId, hostports) => {
    const values = [accountId, hostports];
    const { rows } = await queryNamed<EdgeOfHostport & { hostport: string }>(this.pool, BY_HOSTPORTS, values);
    const edges = new Map<string, EdgeOfHostport[]>();
    for (const { hostport, ...edge } of rows) edges.set(hostport, [...(edges.get(hostport) ?? []), edge]);
    return edges;
  });
}
