import type { Pool } from 'pg';
import { queryNamed, type Ref } from '../../database/index.js';
import { type Entity, entityTable, type ReadModel } from '../../event-log/index.js';
import { requireWellFormedId } from '../resources/access-rules.js';
import type { ListFilter } from '../resources/resource-descriptor.js';
import { type IpPolicyRule, type IpPolicyRuleEvent, ipPolicyRule } from './ip-policy-rule.js';

const TABLE = entityTable<IpPolicyRule>(
  'ip_policy_rules',
  ['description', 'metadata', 'ip_policy_id', 'cidr', 'action'],
  (row) => [`rule:${row.ip_policy_id} ${row.cidr}`],
);

export const ipPolicyRulesReadModel: ReadModel<IpPolicyRule, IpPolicyRuleEvent> = {
  streamPrefixes: ['ipr'],
  events: {
    'ip_policy_rule_created.v1': { isStart: true },
    'ip_policy_rule_updated.v1': {},
    'ip_policy_rule_deleted.v1': { isEnd: true },
  },
  evolve: ipPolicyRule.evolve,
  tables: [TABLE],
};

/** A rule never changes its policy. */
export const OF_POLICY: ListFilter<IpPolicyRule> = {
  name: 'ip_policy_id',
  isFixed: true,
  read(text) {
    requireWellFormedId('ip_policy_id', text);
    return text;
  },
  rows: `t.account_id = $1 and t.ip_policy_id = $4 and t.id < $2 and t.id > 'ipr_'`,
  order: 't.id desc',
  condition: (value) => `t.ip_policy_id = ${value}`,
  matches: ({ ip_policy_id }, value) => ip_policy_id === value,
};

/** The unique index over the networks of a policy; violated if two rules race for one network. */
export const CIDR_CONSTRAINT = 'ip_policy_rules_cidr';
/** The trigger on the rules reports this if their policy is deleted. */
export const POLICY_DELETED_CONSTRAINT = 'ip_policy_deleted';
/** The trigger on the rules reports this if their policy has more rules than the maximum of the append. */
export const TOO_MANY_RULES_CONSTRAINT = 'too_many_rules';
/** The trigger on the policies reports this if a deleted policy has rules. */
export const RULES_LEFT_CONSTRAINT = 'ip_policy_rules_left';

const RULES_OF_POLICY = {
  name: 'rules_of_policy',
  text: `select ${TABLE.columns.map((column) => `t.${column}`).join(', ')} from ip_policy_rules t
    where t.account_id = $1 and t.ip_policy_id = $2`,
};
const NUMBER_OF_RULES = {
  name: 'number_of_rules',
  text: `select count(*)::int as n from (select from ip_policy_rules t
    where t.account_id = $1 and t.ip_policy_id = $2 limit $3) counted`,
};

/** The rules of a policy. */
export class RulesOfPolicies {
  constructor(private readonly pool: Pool) {}

  async list({ accountId, id }: Ref): Promise<Entity<IpPolicyRule>[]> {
    return (await queryNamed<Entity<IpPolicyRule>>(this.pool, RULES_OF_POLICY, [accountId, id])).rows;
  }

  /** At most `max`. */
  async count({ accountId, id }: Ref, max: number): Promise<number> {
    const { rows } = await queryNamed<{ n: number }>(this.pool, NUMBER_OF_RULES, [accountId, id, max]);
    return rows[0]?.n ?? 0;
  }
}
