import type { Pool } from 'pg';
import { REFS, type Ref } from '../../database/coalesce.js';
import { queryNamed } from '../../database/query.js';
import type { Address } from '../../ip-rules/address.js';
import type { IpRule } from '../../ip-rules/ip-policy.js';
import { networksAround } from '../../ip-rules/network.js';

/** The live policies of `$1` (accounts) and `$2` (ids), and their rules: one row for a policy without any. */
const rulesWhere = (condition: string): string =>
  `select p.account_id as "accountId", p.id as "policyId", r.id, r.cidr, r.action
  from ${REFS}
  join ip_policies p on p.account_id = wanted.account_id and p.id = wanted.id and by_index(p.id)
  left join ip_policy_rules r on r.account_id = p.account_id and r.ip_policy_id = p.id${condition} and by_index(r.id)
  order by r.id`;

const RULES = { name: 'ip_rules_of_policies', text: rulesWhere('') };
/** The index by network finds them, so a policy of any size costs the same. */
const RULES_AROUND = { name: 'ip_rules_around', text: rulesWhere(' and r.cidr = any ($3::text[])') };

const COUNTS = {
  name: 'ip_rules_counted',
  text: `select p.account_id as "accountId", p.id, counted.n
    from ${REFS}
    join ip_policies p on p.account_id = wanted.account_id and p.id = wanted.id and by_index(p.id)
    cross join lateral (
      select count(*)::int as n from (
        select from ip_policy_rules r
        where r.account_id = p.account_id and r.ip_policy_id = p.id and by_index(r.id) limit $3
      ) found
    ) counted`,
};

interface RuleRow {
  readonly accountId: string;
  readonly policyId: string;
  /** Null, like the other columns of the rule, for a policy without rules. */
  readonly id: string | null;
  readonly cidr: string;
  readonly action: IpRule['action'];
}

/** The rules of policies, oldest first. A policy that does not exist has no entry. */
export type RulesByPolicy = ReadonlyMap<string, readonly IpRule[]>;

export const policyKey = ({ accountId, id }: Ref): string => `${accountId} ${id}`;

/** Reads policies with their rules, both from one snapshot: a policy and its rules are deleted together. */
export class EdgePolicies {
  constructor(private readonly pool: Pool) {}

  rules(policies: readonly Ref[]): Promise<RulesByPolicy> {
    return this.read(RULES, policies, []);
  }

  /** Only the rules whose networks contain the address. */
  rulesAround(policies: readonly Ref[], address: Address): Promise<RulesByPolicy> {
    return this.read(RULES_AROUND, policies, [networksAround(address)]);
  }

  /** The number of rules of each policy that exists, counted up to `max`. */
  async counts(policies: readonly Ref[], max: number): Promise<ReadonlyMap<string, number>> {
    const { rows } = await queryNamed<Ref & { n: number }>(this.pool, COUNTS, [...columnsOf(policies), max]);
    return new Map(rows.map((row) => [policyKey(row), row.n]));
  }

  private async read(statement: typeof RULES, policies: readonly Ref[], more: readonly unknown[]) {
    if (policies.length === 0) return new Map<string, IpRule[]>();
    const { rows } = await queryNamed<RuleRow>(this.pool, statement, [...columnsOf(policies), ...more]);
    const found = new Map<string, IpRule[]>();
    for (const { accountId, policyId, id, cidr, action } of rows) {
      const key = policyKey({ accountId, id: policyId });
      const rules = found.get(key) ?? [];
      if (id !== null) rules.push({ id, cidr, action });
      found.set(key, rules);
    }
    return found;
  }
}

/** Each policy once. */
function columnsOf(policies: readonly Ref[]): string[][] {
  const unique = [...new Map(policies.map((ref) => [policyKey(ref), ref])).values()];
  return [unique.map(({ accountId }) => accountId), unique.map(({ id }) => id)];
}
