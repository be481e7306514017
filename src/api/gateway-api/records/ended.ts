import { Injectable } from '@nestjs/common';
import { AuditReads, type NamedStatement, queryNamed, type Reader } from '../../../database/index.js';
import type { PageRequest } from '../../http/pages.js';
import { MAX_TUNNELS_OF_RECORD, type RecordedEdgeConnection, type RecordedSession } from './records.resource.js';

/** Bounds of ids, which have the time of the end; undefined ids select nothing. */
export interface WantedRecords {
  readonly page: PageRequest;
  readonly credentialId: string | undefined;
  readonly edgeId?: string | undefined;
  /** Only records before this id. */
  readonly before: string;
  /** Only records from this id on. */
  readonly from: string;
}

const COUNTERS = 'r.bytes_in::float8 as bytes_in, r.bytes_out::float8 as bytes_out';
const SESSION = `select r.id, r.session_id, r.credential_id, r.owner_id, r.fingerprint, r.source, r.client, r.gateway_id,
  r.gateway_name, r.started_at, r.ended_at, r.reason, ${COUNTERS}, r.connections::float8 as connections,
  (select coalesce(json_agg(t order by t.id desc), '[]') from (
    select n.tunnel_id as id, n.credential_id, n.targets, n.started_at, n.ended_at, n.reason, n.bytes_in, n.bytes_out,
      n.connections
    from tunnel_records n
    where n.account_id = r.account_id and (n.session_id, n.id) > (r.session_id, '') and (n.session_id, n.id) < (r.session_id, '~')
    order by n.session_id desc, n.id desc limit ${MAX_TUNNELS_OF_RECORD}) t) as tunnels
  from tunnel_session_records r`;
const EDGE_CONNECTION = `select r.id, r.edge_id, r.hostport, r.host, r.client, r.session_id, r.tunnel_id, r.credential_id, r.gateway_id,
  r.gateway_name, r.started_at, r.ended_at, r.reason, ${COUNTERS}, r.logs from edge_connection_records r`;

const PAGE_OF_ALL = 'where r.account_id = $1 and r.id < $2 and r.id >= $3 order by r.id desc limit $4';
/** The condition, the comparisons and the order follow the index of `column`, so that PostgreSQL takes no other. */
const pageOf = (
  column: 'credential_id' | 'edge_id',
  further = '',
): string => `where r.account_id = $1 and r.account_id <> ''
  and (r.${column}, r.id) < ($5, $2) and (r.${column}, r.id) >= ($5, $3)${further}
  order by r.${column} desc, r.id desc limit $4`;

const SESSIONS = { name: 'session_records_page', text: `${SESSION} ${PAGE_OF_ALL}` };
const SESSIONS_OF_CREDENTIAL = {
  name: 'session_records_page_of_credential',
  text: `${SESSION} ${pageOf('credential_id')}`,
};
const CONNECTIONS = { name: 'edge_connection_records_page', text: `${EDGE_CONNECTION} ${PAGE_OF_ALL}` };
const CONNECTIONS_OF_EDGE = {
  name: 'edge_connection_records_page_of_edge',
  text: `${EDGE_CONNECTION} ${pageOf('edge_id')}`,
};
const CONNECTIONS_OF_CREDENTIAL = {
  name: 'edge_connection_records_page_of_credential',
  text: `${EDGE_CONNECTION} ${pageOf('credential_id', ' and r.credential_id is not null')}`,
};

/** What has ended, as gateways reported it. Newest first, and one more than the page's limit if there is a next page. */
@Injectable()
export class Ended {
  constructor(private readonly auditReads: AuditReads) {}

  sessions(reader: Reader, wanted: WantedRecords): Promise<readonly RecordedSession[]> {
    const { credentialId } = wanted;
    if (credentialId === undefined) return this.read(reader, SESSIONS, wanted);
    return this.read(reader, SESSIONS_OF_CREDENTIAL, wanted, credentialId);
  }

  edgeConnections(reader: Reader, wanted: WantedRecords): Promise<readonly RecordedEdgeConnection[]> {
    const { credentialId, edgeId } = wanted;
    if (edgeId !== undefined) return this.read(reader, CONNECTIONS_OF_EDGE, wanted, edgeId);
    if (credentialId === undefined) return this.read(reader, CONNECTIONS, wanted);
    return this.read(reader, CONNECTIONS_OF_CREDENTIAL, wanted, credentialId);
  }

  private read<Row extends object>(
    reader: Reader,
    statement: NamedStatement,
    { page, before, from }: WantedRecords,
    ...further: readonly unknown[]
  ): Promise<readonly Row[]> {
    const upTo = page.beforeId !== null && page.beforeId < before ? page.beforeId : before;
    const values = [reader.accountId, upTo, from, page.limit + 1, ...further];
    return this.auditReads.run(reader, async (connections) => {
      const { rows } = await queryNamed<Row & Record<string, unknown>>(connections, statement, values);
      return rows;
    });
  }
}
