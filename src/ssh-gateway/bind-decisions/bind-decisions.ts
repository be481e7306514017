import type { Pool } from 'pg';
import { type NamedStatement, queryNamed } from '../../database/query.js';
import type { PageRequest } from '../../http/pages.js';

/** A row of `bind_decisions`. */
export interface RecordedBindDecision {
  readonly id: string;
  readonly decided_at: Date;
  readonly credential_id: string;
  readonly credential_version: number;
  readonly owner_id: string;
  readonly fingerprint: string;
  readonly target: object;
  readonly allowed: boolean;
  readonly reason: string;
  readonly rule: string | null;
  readonly gateway: string;
  readonly source: string | null;
}

const SELECT = `select d.id, d.decided_at, d.credential_id, d.credential_version, d.owner_id, d.fingerprint, d.target,
  d.allowed, d.reason, d.rule, d.gateway, d.source from bind_decisions d`;

const pageWhere = (name: string, condition: string): NamedStatement => ({
  name,
  text: `${SELECT} where d.account_id = $1 and d.id < $2 and ${condition} order by d.id desc limit $3`,
});
const PAGE = pageWhere('bind_decisions_page', 'true');
const PAGE_OF_CREDENTIAL = pageWhere('bind_decisions_page_of_credential', 'd.credential_id = $4');

/** Greater than any id of a decision. */
const NEWEST = 'bd_~';

/** The recorded decisions about an account's keys. An unknown key has no account; only the operator sees those. */
export class BindDecisions {
  constructor(private readonly pool: Pool) {}

  /** Newest first. One more than the page's limit if there is a next page. */
  async list(
    accountId: string,
    { beforeId, limit }: PageRequest,
    credentialId: string | undefined,
  ): Promise<readonly RecordedBindDecision[]> {
    const values = [accountId, beforeId ?? NEWEST, limit + 1];
    const { rows } = await (credentialId === undefined
      ? queryNamed<RecordedBindDecision>(this.pool, PAGE, values)
      : queryNamed<RecordedBindDecision>(this.pool, PAGE_OF_CREDENTIAL, [...values, credentialId]));
    return rows;
  }
}
