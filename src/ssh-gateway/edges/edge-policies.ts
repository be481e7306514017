import type { Pool } from 'pg';
import { type Ref, wantedRows } from '../../database/coalesce.js';
import { onPrimary, queryNamed } from '../../database/query.js';
import type { Address } from '../../ip-rules/address.js';
import type { IpRule } from '../../ip-rules/ip-policy.js';
import { networksAround } from '../../ip-rules/network.js';

/** The live ones of the policies of `$1` (accounts) and `$2` (ids), each with the rules that `limited` chooses. */
const rulesOfPolicies = (limited: string): string =>
  `select p.account_id as "accountId", p.id as "policyId", r.id, r.cidr, r.action
  from ${wantedRows('ip_policies')} p
  left join lateral (
    select r.id, r.cidr, r.action from ip_policy_rules r
    where r.account_id = p.account_id and r.ip_policy_id = p.id ${limited}
  ) r on true`;

/** At most `$4` rows of each account of `$3`. The inner limits end the reading, so no account costs more than that. */
const RULES = onPrimary({
  name: 'ip_rules_of_accounts',
  text: `select of_account.* from unnest($3::text[]) as owner(account_id) cross join lateral (
      ${rulesOfPolicies('limit $4::int')} where p.account_id = owner.account_id limit $4::int
    ) of_account
    order by of_account.id`,
});

/**
 * The rule of each policy that decides, of those of the networks `$3`, the largest first: see decidingRule. The index by
 * network finds them, so a policy of any size costs the same, and the answer has one row for each.
 */
const DECIDING = onPrimary({
  name: 'ip_rules_deciding',
  text: rulesOfPolicies(
    `and r.cidr = any ($3::text[]) order by r.action = 'deny' desc, array_position($3::text[], r.cidr) desc limit 1`,
  ),
});

/** One row for a policy without rules. */
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

  /**
   * All rules, of accounts whose policies have at most `max` together; a policy without rules counts as one. The policies
   * of the `others` are not among them.
   */
  async rules(policies: readonly Ref[], max: number): Promise<{ rules: RulesByPolicy; others: ReadonlySet<string> }> {
    if (policies.length === 0) return { rules: new Map(), others: new Set() };
    const accounts = [...new Set(policies.map(({ accountId }) => accountId))];
    const { rows } = await queryNamed<RuleRow>(this.pool, RULES, [...columnsOf(policies), accounts, max + 1]);
    const counts = new Map<string, number>();
    for (const { accountId } of rows) counts.set(accountId, (counts.get(accountId) ?? 0) + 1);
    const others = new Set(accounts.filter((accountId) => (counts.get(accountId) ?? 0) > max));
    return { rules: byPolicy(rows.filter(({ accountId }) => !others.has(accountId))), others };
  }

  /** Of each policy that exists, the rule that decides about the address, if one does. */
  async deciding(policies: readonly Ref[], address: Address): Promise<RulesByPolicy> {
    return this.ofNetworks(policies, networksAround(address));
  }

  /** Each policy that exists, without its rules. */
  existing(policies: readonly Ref[]): Promise<RulesByPolicy> {
    return this.ofNetworks(policies, []);
  }

  private async ofNetworks(policies: readonly Ref[], networks: readonly string[]): Promise<RulesByPolicy> {
    if (policies.length === 0) return new Map();
    return byPolicy((await queryNamed<RuleRow>(this.pool, DECIDING, [...columnsOf(policies), networks])).rows);
  }
}

function byPolicy(rows: readonly RuleRow[]): RulesByPolicy {
  const found = new Map<string, IpRule[]>();
  for (const { accountId, policyId, id, cidr, action } of rows) {
    const key = policyKey({ accountId, id: policyId });
    const rules = found.get(key) ?? [];
    if (id !== null) rules.push({ id, cidr, action });
    found.set(key, rules);
  }
  return found;
}

/** Each policy once. */
function columnsOf(policies: readonly Ref[]): string[][] {
  const unique = [...new Map(policies.map((ref) => [policyKey(ref), ref])).values()];
  return [unique.map(({ accountId }) => accountId), unique.map(({ id }) => id)];
}
