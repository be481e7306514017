import type { Pool } from 'pg';
import { queryNamed } from '../../database/query.js';

/**
 * Walks along the index from hostport to hostport, so that a port which many edges list costs one step. `mine` limits it
 * to an account. `$1` is the first possible text and `$2` the first one after the last.
 */
const walk = (mine: string): string => `with recursive listed(hostport) as (
    select $1::text collate "C"
    union all
    select (select t.hostport collate "C" as hostport from tcp_edge_hostports t
        where ${mine} t.hostport collate "C" > l.hostport and t.hostport collate "C" < $2::text and by_index(t.edge_id)
        order by 1 limit 1)
      from listed l where l.hostport is not null)
  select hostport from listed where hostport is not null and hostport <> $1`;

const OF_ALL = { name: 'edge_ports', text: walk('') };
const OF_ACCOUNT = { name: 'edge_ports_of_account', text: walk('t.account_id = $3 and') };

/** The ports of a host that edges list. A host has at most 65,535 ports, which bounds the answer. */
export class EdgePorts {
  constructor(private readonly pool: Pool) {}

  /** In ascending order. `host` is canonical. */
  async list(host: string, accountId: string | undefined): Promise<number[]> {
    // The semicolon is the character after the colon.
    const range = [`${host}:`, `${host};`];
    const [statement, values] = accountId === undefined ? [OF_ALL, range] : [OF_ACCOUNT, [...range, accountId]];
    const { rows } = await queryNamed<{ hostport: string }>(this.pool, statement, values);
    return rows.map(({ hostport }) => Number(hostport.slice(host.length + 1))).sort((a, b) => a - b);
  }
}
