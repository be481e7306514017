import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { type NamedStatement, onPrimary, POOL, queryNamed, wantedRows } from '../../../database/index.js';
import { isId } from '../../../kernel/ids.js';
import {
  type Address,
  compilePolicy,
  type IpPolicies,
  type IpRule,
  MAX_IP_RULES,
  networksContaining,
} from '../../../rules/index.js';

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

/** The number of rules of the policies, up to `$3`. */
const COUNT = onPrimary({
  name: 'ip_rules_count',
  text: `select count(*)::int as n from (
      select from unnest($2::text[]) as wanted(id) cross join lateral (
        select from ip_policy_rules r where r.account_id = $1 and r.ip_policy_id = wanted.id limit $3::int
      ) r limit $3::int
    ) found`,
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

  /** All rules. Undefined if they are more than MAX_IP_RULES. */
  async rules(accountId: string, policyIds: readonly string[]): Promise<RulesByPolicy | undefined> {
    const ids = policyIds.filter(mayExist);
    // A policy without rules has a row too.
    const rows = await this.ask<RuleRow>(RULES, accountId, ids, MAX_IP_RULES + 1 + ids.length);
    return rows.filter(({ id }) => id !== null).length > MAX_IP_RULES ? undefined : byPolicy(rows);
  }

  async areTooMany(accountId: string, policyIds: readonly string[]): Promise<boolean> {
    const [count] = await this.ask<{ n: number }>(COUNT, accountId, policyIds.filter(mayExist), MAX_IP_RULES + 1);
    return (count?.n ?? 0) > MAX_IP_RULES;
  }

  /** The policies that exist, each with the rule that decides about the address, if there is one. */
  async deciding(accountId: string, policyIds: readonly string[], address: Address): Promise<IpPolicies> {
    const ids = policyIds.filter(mayExist);
    const rows = await this.ask<RuleRow>(DECIDING, accountId, ids, networksContaining(address));
    return new Map([...byPolicy(rows)].map(([id, rules]) => [id, compilePolicy(rules)]));
  }

  /** The policies that exist. */
  async existing(accountId: string, policyIds: readonly string[]): Promise<ReadonlyMap<string, unknown>> {
    return byPolicy(await this.ask<RuleRow>(DECIDING, accountId, policyIds.filter(mayExist), []));
  }

  private async ask<Row extends object>(
    statement: NamedStatement,
    accountId: string,
    ids: readonly string[],
    further: unknown,
  ) {
    if (ids.length === 0) return [];
    return (await queryNamed<Row>(this.pool, statement, [accountId, ids, further])).rows;
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
