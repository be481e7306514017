import { Injectable } from '@nestjs/common';
import { AuditReads, type NamedStatement, queryNamed, type Reader } from '../../../database/index.js';
import type { PageRequest } from '../../http/pages.js';
import type { RecordedBindDecision } from './bind-decisions.resource.js';

/** The columns of RecordedBindDecision, in the order of the resource's fields. */
const SELECT = `select d.id, d.decided_at, d.allowed, d.reason, d.rule as matched_rule, d.target, d.credential_id,
  d.credential_version as version, d.owner_id, d.fingerprint, d.gateway, d.gateway_name, d.source,
  d.log_position::float8 as log_position, d.rule_index, d.read_at from bind_decisions d`;

const PAGE = {
  name: 'bind_decisions_page',
  text: `${SELECT} where d.account_id = $1 and d.id < $2 order by d.id desc limit $3`,
};
/**
 * The inequality repeats the condition of the partial index, and the comparisons and the order follow its columns. So
 * PostgreSQL takes this index and no other.
 */
const PAGE_OF_CREDENTIAL = {
  name: 'bind_decisions_page_of_credential',
  text: `${SELECT} where d.account_id = $1 and d.account_id <> ''
    and (d.credential_id, d.id) < ($4, $2) and (d.credential_id, d.id) > ($4, '')
    and ($5::text is null or d.gateway_name = $5)
    order by d.credential_id desc, d.id desc limit $3`,
};
const PAGE_OF_GATEWAY = {
  name: 'bind_decisions_page_of_gateway',
  text: `${SELECT} where d.account_id = $1 and d.account_id <> '' and d.gateway_name is not null
    and (d.gateway_name, d.id) < ($4, $2) and (d.gateway_name, d.id) > ($4, '')
    order by d.gateway_name desc, d.id desc limit $3`,
};

/** Greater than any id of a decision. */
const NEWEST = 'bd_~';

/** A field that is undefined selects nothing. */
interface WantedBindDecisions {
  readonly credential_id: string | undefined;
  readonly gateway_name: string | undefined;
}

/**
 * The recorded decisions about an account's keys. A decision about an unknown key has no account, and only the operator
 * sees it.
 */
@Injectable()
export class BindDecisions {
  constructor(private readonly auditReads: AuditReads) {}

  /** Newest first. One more than the page's limit if there is a next page. */
  async list(
    reader: Reader,
    { beforeId, limit }: PageRequest,
    { credential_id: credentialId, gateway_name: gatewayName }: WantedBindDecisions,
  ): Promise<readonly RecordedBindDecision[]> {
    const values = [reader.accountId, beforeId ?? NEWEST, limit + 1];
    const { rows } = await this.auditReads.run(reader, (connections) => {
      const read = (statement: NamedStatement, ...further: readonly unknown[]) =>
        queryNamed<RecordedBindDecision>(connections, statement, [...values, ...further]);
      if (credentialId !== undefined) return read(PAGE_OF_CREDENTIAL, credentialId, gatewayName ?? null);
      return gatewayName === undefined ? read(PAGE) : read(PAGE_OF_GATEWAY, gatewayName);
    });
    return rows;
  }
}
