import { Injectable } from '@nestjs/common';
import { AuditReads, type NamedStatement, queryNamed, type Reader } from '../../../database/index.js';
import type { PageRequest } from '../../http/pages.js';
import type { RecordedBindDecision } from './bind-decisions.resource.js';

/** The columns of RecordedBindDecision, in the order of the resource's fields. */
const SELECT = `select d.id, d.decided_at, d.allowed, d.reason, d.rule as matched_rule, d.target, d.credential_id,
  d.credential_version as version, d.owner_id, d.fingerprint, d.gateway, d.gateway_name, d.source,
  d.log_position::float8 as log_position, d.rule_index, d.read_at`;

/** A page with a filter that has no index reads this many rows at most, so that a rare filter never reads the whole record. */
const MAX_SCANNED = 10_000;

/** $1: account, $2: before this id, $3: rows, $4: from this id on. `key` is the value of the index. */
interface Index {
  readonly name: string;
  rows(key: string): string;
  readonly order: string;
}
const OF_ACCOUNT: Index = {
  name: 'bind_decisions_page',
  rows: () => 'd.account_id = $1 and d.id < $2 and d.id >= $4',
  order: 'd.id desc',
};
/**
 * The inequality repeats the condition of the partial index, and the comparisons and the order follow its columns. So
 * PostgreSQL takes this index and no other.
 */
const OF_CREDENTIAL: Index = {
  name: 'bind_decisions_page_of_credential',
  rows: (key) => `d.account_id = $1 and d.account_id <> ''
    and (d.credential_id, d.id) < (${key}, $2) and (d.credential_id, d.id) >= (${key}, $4)`,
  order: 'd.credential_id desc, d.id desc',
};
const OF_GATEWAY: Index = {
  name: 'bind_decisions_page_of_gateway',
  rows: (key) => `d.account_id = $1 and d.account_id <> '' and d.gateway_name is not null
    and (d.gateway_name, d.id) < (${key}, $2) and (d.gateway_name, d.id) >= (${key}, $4)`,
  order: 'd.gateway_name desc, d.id desc',
};

/** A target as one text: a name, `host:port`, or `key=value` of a label. */
const TARGET = `coalesce(d.target ->> 'domain', d.target ->> 'address',
  (d.target #>> '{label,key}') || '=' || (d.target #>> '{label,value}'))`;

const pageOf = ({ name, rows, order }: Index): NamedStatement => ({
  name,
  text: `${SELECT} from bind_decisions d where ${rows('$5')} order by ${order} limit $3`,
});
const filteredPageOf = ({ name, rows, order }: Index): NamedStatement => ({
  name: `${name}_filtered`,
  text: `${SELECT} from (
      select * from bind_decisions d where ${rows('$10')} order by ${order} limit ${MAX_SCANNED}
    ) d where ($5::boolean is null or d.allowed = $5) and ($6::text is null or d.reason = $6)
      and ($7::text is null or d.owner_id = $7) and ($8::text is null or ${TARGET} = $8)
      and ($9::text is null or d.gateway_name = $9)
    order by ${order} limit $3`,
});
/** The last row that a filtered page has read, if there are more. */
const scannedOf = ({ name, rows, order }: Index): NamedStatement => ({
  name: `${name}_scanned`,
  text: `select d.id from bind_decisions d where ${rows('$5')} order by ${order} offset ${MAX_SCANNED - 1} limit $3`,
});

/** A field that is undefined selects nothing. The ids have the times of the decisions in them. */
interface WantedBindDecisions {
  readonly from: string;
  readonly before: string;
  readonly credential_id: string | undefined;
  readonly gateway_name: string | undefined;
  readonly allowed: string | undefined;
  readonly reason: string | undefined;
  readonly owner_id: string | undefined;
  readonly target: string | undefined;
}

interface FoundBindDecisions {
  /** Newest first. One more than the page's limit if there is a next page. */
  readonly found: readonly RecordedBindDecision[];
  /** The id before which the next page begins, if this one has read as much as it may. */
  readonly scannedTo?: string | undefined;
}

/**
 * The recorded decisions about an account's keys. A decision about an unknown key has no account, and only the operator
 * sees it.
 */
@Injectable()
export class BindDecisions {
  constructor(private readonly auditReads: AuditReads) {}

  list(
    reader: Reader,
    { beforeId, limit }: PageRequest,
    { from, before, credential_id, gateway_name, allowed, reason, owner_id, target }: WantedBindDecisions,
  ): Promise<FoundBindDecisions> {
    const unless = gateway_name === undefined ? OF_ACCOUNT : OF_GATEWAY;
    const index = credential_id === undefined ? unless : OF_CREDENTIAL;
    const key = [credential_id ?? gateway_name ?? []].flat();
    const filters = [allowed, reason, owner_id, target, index === OF_CREDENTIAL ? gateway_name : undefined];
    const end = beforeId !== null && beforeId < before ? beforeId : before;
    return this.auditReads.run(reader, async (connections) => {
      const read = async <Row>(statement: NamedStatement, rows: number, ...further: readonly unknown[]) =>
        (await queryNamed<Row & object>(connections, statement, [reader.accountId, end, rows, from, ...further])).rows;
      if (filters.every((value) => value === undefined)) {
        return { found: await read<RecordedBindDecision>(pageOf(index), limit + 1, ...key) };
      }
      const values = filters.map((value) => value ?? null);
      const found = await read<RecordedBindDecision>(filteredPageOf(index), limit + 1, ...values, ...key);
      if (found.length > limit) return { found };
      const [last] = await read<{ readonly id: string }>(scannedOf(index), 1, ...key);
      return { found, scannedTo: last?.id };
    });
  }
}
