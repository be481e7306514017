import type { Pool } from 'pg';
import { coalescedByAccount, onPrimary, queryNamed, type Ref } from '../../database/index.js';
import { claimValue, type Entity, entityTable, type ReadModel, type Row, type Table } from '../../event-log/index.js';
import { evolve, type TcpEdge, type TcpEdgeEvent } from './tcp-edge.js';

const COLUMNS = [
  ...(['description', 'metadata', 'hostports', 'backend', 'ip_restriction', 'traffic_policy'] as const),
  'expires_at',
] as const;

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

/** Any number of edges of an account may list one hostport outside strict mode. Only the first ones are looked at. */
export const MAX_EDGES_OF_A_HOSTPORT = 100;

/** `$1`: the account whose edges are wanted, or '' for the edges of all accounts. */
const LISTING = `select t.account_id, t.edge_id, t.listed_at from tcp_edge_hostports t
      where t.hostport = wanted.hostport and t.account_id = coalesce(nullif($1, ''), t.account_id)
      order by t.listed_at, t.edge_id limit ${MAX_EDGES_OF_A_HOSTPORT}`;
const BY_HOSTPORTS = onPrimary({
  name: 'tcp_edges_by_hostports',
  text: `select wanted.hostport, served.account_id as "accountId", served.edge_id as id, listing.ids
    from unnest($2::text[]) as wanted(hostport)
    cross join lateral (select coalesce(array_agg(l.edge_id), '{}') as ids from (${LISTING}) l) listing
    left join lateral (
      select l.account_id, l.edge_id from (${LISTING}) l
      cross join lateral (select e.backend, e.expires_at from tcp_edges e where e.account_id = l.account_id and e.id = l.edge_id limit 1) e
      where (e.backend ->> 'enabled')::boolean and (e.expires_at <= statement_timestamp()) is not true
      order by l.listed_at, l.edge_id limit 1
    ) served on true`,
});

/** The edges that list a hostport. */
export interface EdgesAt {
  readonly hostport: string;
  /** At most MAX_EDGES_OF_A_HOSTPORT. */
  readonly ids: readonly string[];
  /** The first one that has not expired and whose backend is enabled. */
  readonly served?: Ref;
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

  /** The edges of the account, or of all accounts, that list this canonical hostport. */
  async at(hostport: string, accountId = ''): Promise<EdgesAt> {
    return (await this.find({ accountId, id: hostport })) ?? { hostport, ids: [] };
  }

  /** The ones of these canonical hostports that edges of other accounts list. */
  async ofOtherAccounts(accountId: string, hostports: readonly string[]): Promise<HostportsOfOthers> {
    const values = [accountId, hostports, hostports.map((hostport) => claimValue('hostport', hostport))];
    const { rows } = await queryNamed<{ hostport: string; isReserved: boolean }>(this.pool, CLAIMED_BY_OTHERS, values);
    const all = (wanted: boolean) =>
      new Set(rows.filter(({ isReserved }) => isReserved === wanted).map(({ hostport }) => hostport));
    return { taken: all(false), reserved: all(true) };
  }

  private readonly find = coalescedByAccount<EdgesAt>(async (account, hostports) => {
    const { rows } = await queryNamed<HostportRow & object>(this.pool, BY_HOSTPORTS, [account, hostports]);
    return new Map(
      rows.map(({ hostport, accountId, id, ids }) => [
        hostport,
        { hostport, ids, ...(id !== null && { served: { accountId, id } }) },
      ]),
    );
  });
}

type HostportRow = Omit<EdgesAt, 'served'> & { readonly accountId: string; readonly id: string | null };
