import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { onPrimary, POOL, queryNamed, wantedRows } from '../../../database/index.js';
import { isId } from '../../../kernel/ids.js';
import { type Address, type IpRule, networksContaining } from '../../../rules/index.js';

/** All rules of the policies, up to `$3` rows. The inner limits bound what one account can make the database read. */
const RULES = onPrimary({
  name: 'ip_rules_of_policies',
  text: `select found.* from (
      select p.id as "policyId", r.id, r.cidr, r.action from ${wantedRows('ip_policies')} p
      left join lateral (
        select r.id, r.cidr, r.action from ip_policy_rules r
        where r.account_id = $1 and r.ip_policy_id = p.id limit $3::int
      ) r on true limit $3::int
    ) found order by found.id`,
});

/**
 * The rule of each policy that decides, among its rules for the networks `$3`, the largest first: see decidingRule. The
 * answer has one row for each policy.
 */
const DECIDING = onPrimary({
  name: 'ip_rules_deciding',
  text: `select p.id as "policyId", r.id, r.cidr, r.action from ${wantedRows('ip_policies')} p
    left join lateral (
      select r.id, r.cidr, r.action from ip_policy_rules r
      where r.account_id = $1 and r.ip_policy_id = p.id and r.cidr = any ($3::text[])
      order by r.action = 'deny' desc, array_position($3::text[], r.cidr) desc limit 1
    ) r on true`,
});

/** One row for a policy without rules. */
interface RuleRow {
  readonly policyId: string;
  /** Null, like the other columns of the rule, for a policy without rules. */
  readonly id: string | null;
  readonly cidr: string;
  readonly action: IpRule['action'];
}

/** The rules of policies of one account by the policy's id, oldest first. A policy that does not exist has no entry. */
export type RulesByPolicy = ReadonlyMap<string, readonly IpRule[]>;

/** Reads policies of an account with their rules, both from one snapshot: a policy and its rules are deleted together. */
@Injectable()
export class EdgePolicies {
  constructor(@Inject(POOL) private readonly pool: Pool) {}

  /** All rules. Undefined if they are more than `max`; a policy without rules counts as one. */
  async rules(accountId: string, policyIds: readonly string[], max: number): Promise<RulesByPolicy | undefined> {
    const { rows } = await queryNamed<RuleRow>(this.pool, RULES, [accountId, policyIds.filter(mayExist), max + 1]);
    return rows.length > max ? undefined : byPolicy(rows);
  }

  /** For each policy that exists, the rule that decides about the address, if there is one. */
  deciding(accountId: string, policyIds: readonly string[], address: Address): Promise<RulesByPolicy> {
    return this.ofNetworks(accountId, policyIds, networksContaining(address));
  }

  /** Each policy that exists, without its rules. */
  existing(accountId: string, policyIds: readonly string[]): Promise<RulesByPolicy> {
    return this.ofNetworks(accountId, policyIds, []);
  }

  private async ofNetworks(
    accountId: string,
    policyIds: readonly string[],
    networks: readonly string[],
  ): Promise<RulesByPolicy> {
    const ids = policyIds.filter(mayExist);
    if (ids.length === 0) return new Map();
    return byPolicy((await queryNamed<RuleRow>(this.pool, DECIDING, [accountId, ids, networks])).rows);
  }
}

/** A traffic policy may name an IP policy by any text, even by one that PostgreSQL refuses. */
const mayExist = (id: string): boolean => isId(id, 'ipp');

function byPolicy(rows: readonly RuleRow[]): RulesByPolicy {
  const found = new Map<string, IpRule[]>();
  for (const { policyId, id, cidr, action } of rows) {
    const rules = found.get(policyId) ?? [];
    if (id !== null) rules.push({ id, cidr, action });
    found.set(policyId, rules);
  }
  return found;
}
