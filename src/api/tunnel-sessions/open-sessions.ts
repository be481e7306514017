import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { coalescedRows, type NamedStatement, POOL, queryNamed, type Ref, wantedRows } from '../../database/index.js';
import { isId } from '../../kernel/ids.js';
import type { PageRequest } from '../http/pages.js';

/** Counters are null where the gateway does not count. */
interface OpenRow {
  readonly id: string;
  readonly account_id: string;
  readonly credential_id: string;
  readonly owner_id: string;
  readonly started_at: Date;
  readonly bytes_in: number | null;
  readonly bytes_out: number | null;
  readonly connections: number | null;
}

/** A target in the form in which gateways send it. */
export interface TargetForm {
  readonly domain?: string;
  readonly address?: string;
  readonly label?: { readonly key: string; readonly value: string };
}

export interface OpenSession extends OpenRow {
  readonly gateway_id: string;
  readonly gateway_name: string | null;
  readonly fingerprint: string | null;
  readonly source: string | null;
  readonly doubled: boolean;
  readonly client: string | null;
  /** The newest ones. */
  readonly tunnels: readonly { readonly id: string; readonly targets: readonly TargetForm[] }[];
}

export interface OpenTunnel extends OpenRow {
  readonly session_id: string;
  readonly targets: readonly TargetForm[];
}

/** Undefined fields select nothing. */
export interface WantedOpen {
  readonly ownerId: string | undefined;
  readonly credentialId: string | undefined;
}

/** Of an answer that has 100 sessions. `/tunnels` has all. */
export const MAX_TUNNELS_OF_SESSION = 20;

const COUNTERS = `t.bytes_in::float8 as bytes_in, t.bytes_out::float8 as bytes_out, t.connections::float8 as connections`;
const SESSION = `select t.account_id, t.id, t.credential_id, t.owner_id, t.gateway_id, t.gateway_name, t.fingerprint, t.source, t.doubled,
  t.client, t.started_at, ${COUNTERS}, (select coalesce(json_agg(json_build_object('id', n.id, 'targets', n.targets)
      order by n.id desc), '[]') from (
    select b.id, b.targets from tunnels b
      where b.account_id = t.account_id and (b.session_id, b.id) > (t.id, '') and (b.session_id, b.id) < (t.id, '~')
      order by b.session_id desc, b.id desc limit ${MAX_TUNNELS_OF_SESSION}) n) as tunnels`;
const TUNNEL = `select t.account_id, t.id, t.session_id, t.credential_id, t.owner_id, t.targets, t.started_at, ${COUNTERS}`;

/** The statements of a list. The comparisons and the order follow the columns of an index, so that a page reads no more rows. */
const pagesOf = (table: 'tunnel_sessions' | 'tunnels', select: string) => ({
  all: {
    name: `${table}_page`,
    text: `${select} from ${table} t where t.account_id = $1 and t.id < $2 order by t.id desc limit $3`,
  },
  ofOwner: {
    name: `${table}_page_of_owner`,
    text: `${select} from ${table} t where t.account_id = $1 and (t.owner_id, t.id) < ($4, $2) and (t.owner_id, t.id) > ($4, '')
      order by t.owner_id desc, t.id desc limit $3`,
  },
  ofCredential: {
    name: `${table}_page_of_credential`,
    text: `${select} from ${table} t where t.account_id = $1
      and (t.credential_id, t.id) < ($4, $2) and (t.credential_id, t.id) > ($4, '')
      and ($5::text is null or t.owner_id = $5) order by t.credential_id desc, t.id desc limit $3`,
  },
});
const SESSION_PAGES = pagesOf('tunnel_sessions', SESSION);
const TUNNEL_PAGES = pagesOf('tunnels', TUNNEL);

/** What is open in an account, as gateways report it. */
@Injectable()
export class OpenSessions {
  private readonly session: (ref: Ref) => Promise<OpenSession | undefined>;
  private readonly tunnel: (ref: Ref) => Promise<OpenTunnel | undefined>;

  constructor(@Inject(POOL) private readonly pool: Pool) {
    const byIds = (name: string, select: string, table: string) => ({
      name,
      text: `${select} from ${wantedRows(table)} t`,
    });
    this.session = coalescedRows(
      pool,
      byIds('tunnel_sessions_by_ids', SESSION, 'tunnel_sessions'),
      (row: OpenSession) => row,
    );
    this.tunnel = coalescedRows(pool, byIds('tunnels_by_ids', TUNNEL, 'tunnels'), (row: OpenTunnel) => row);
  }

  async findSession(ref: Ref): Promise<OpenSession | undefined> {
    return isId(ref.id, 'ts') ? this.session(ref) : undefined;
  }

  async findTunnel(ref: Ref): Promise<OpenTunnel | undefined> {
    return isId(ref.id, 'tn') ? this.tunnel(ref) : undefined;
  }

  /** Newest first, and one beyond the page if there are more. */
  listSessions(accountId: string, page: PageRequest, wanted: WantedOpen): Promise<readonly OpenSession[]> {
    return this.list(SESSION_PAGES, [accountId, page.beforeId ?? 'ts_~', page.limit + 1], wanted);
  }

  listTunnels(accountId: string, page: PageRequest, wanted: WantedOpen): Promise<readonly OpenTunnel[]> {
    return this.list(TUNNEL_PAGES, [accountId, page.beforeId ?? 'tn_~', page.limit + 1], wanted);
  }

  private async list<Row extends OpenRow>(
    { all, ofOwner, ofCredential }: typeof SESSION_PAGES,
    values: readonly unknown[],
    { ownerId, credentialId }: WantedOpen,
  ): Promise<readonly Row[]> {
    const read = async (statement: NamedStatement, ...further: readonly unknown[]): Promise<readonly Row[]> =>
      (await queryNamed<Row & Record<string, unknown>>(this.pool, statement, [...values, ...further])).rows;
    if (credentialId !== undefined) return read(ofCredential, credentialId, ownerId ?? null);
    return ownerId === undefined ? read(all) : read(ofOwner, ownerId);
  }
}
