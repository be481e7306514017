import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL, queryNamed } from '../../../database/index.js';

/** `$1` is before the first hostport of the host, and `$2` after the last: one range of an index. */
const OF_ALL = {
  name: 'edge_ports',
  text: `select distinct t.hostport from tcp_edge_hostports t
    where t.hostport collate "C" > $1::text and t.hostport collate "C" < $2::text`,
};
const OF_ACCOUNT = {
  name: 'edge_ports_of_account',
  text: `select distinct t.hostport from tcp_edge_hostports t
    where t.account_id = $1 and t.hostport collate "C" > $2::text and t.hostport collate "C" < $3::text`,
};

/** The ports of a host that edges list. A host has at most 65,535 ports, which bounds the answer. */
@Injectable()
export class EdgePorts {
  constructor(@Inject(POOL) private readonly pool: Pool) {}

  /** In ascending order. `host` is canonical. */
  async list(host: string, accountId: string | undefined): Promise<number[]> {
    // The semicolon is the character after the colon.
    const range = [`${host}:`, `${host};`];
    const [statement, values] = accountId === undefined ? [OF_ALL, range] : [OF_ACCOUNT, [accountId, ...range]];
    const { rows } = await queryNamed<{ hostport: string }>(this.pool, statement, values);
    return rows.map(({ hostport }) => Number(hostport.slice(host.length + 1))).sort((a, b) => a - b);
  }
}
