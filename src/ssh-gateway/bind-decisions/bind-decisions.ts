import type { Pool } from 'pg';
import { type NamedStatement, queryNamed } from '../../database/query.js';
import type { PageRequest } from '../../resources/entity-queries.js';

/** A decision as it was recorded. */
export interface RecordedDecision {
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

/** The decisions about keys of one account; those about unknown keys belong to none, and only the operator sees them. */
export class BindDecisions {
  constructor(private readonly pool: Pool) {}

  /** Newest first, one more than a page holds when there are more. */
  async list(
    accountId: string,
    { beforeId, limit }: PageRequest,
    credentialId: string | undefined,
  ): Promise<readonly RecordedDecision[]> {
    const values = [accountId, beforeId ?? NEWEST, limit + 1];
    const { rows } = await (credentialId === undefined
      ? queryNamed<RecordedDecision>(this.pool, PAGE, values)
      : queryNamed<RecordedDecision>(this.pool, PAGE_OF_CREDENTIAL, [...values, credentialId]));
    return rows;
  }
}
