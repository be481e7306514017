import { MAX_RULES_PER_KEY } from '../../api/gateway-api/decisions/key-access.js';
import { beyondMaximum, sentenceOf } from '../../api/gateway-api/edges/closed-edge.js';
import { fetchRows } from '../../database/index.js';
import { MAX_IP_RULES, namedBy, PolicyReader, UnreadablePolicy } from '../../rules/index.js';
import { hasTable } from './account-checks.js';
import { type Finding, ok, warning } from './finding.js';
import type { Primary } from './server-check.js';

const MAX_NAMED = 20;

const KEYS = `select fingerprint, sum(cardinality(acl))::int as rules from ssh_credentials
  where expires_at is null or expires_at > now() group by 1 having sum(cardinality(acl)) > ${MAX_RULES_PER_KEY} order by 1`;
const RULES = 'select ip_policy_id as id, count(*)::int as rules from ip_policy_rules group by 1';
const EDGES = `select id, ip_restriction, case when (traffic_policy ->> 'enabled')::boolean then traffic_policy ->> 'value' end
    as value
  from tcp_edges where ip_restriction is not null or traffic_policy is not null order by id`;

interface EdgeRow {
  readonly id: string;
  readonly ip_restriction: { readonly ip_policy_ids: readonly string[] } | null;
  readonly value: string | null;
}

/** Keys, IP policies and edges beyond a maximum: of an earlier version, of an import, or since IP policies have grown. */
export async function checkMaxima({ client }: Primary): Promise<readonly Finding[]> {
  if (!(await hasTable(client, 'ip_policy_rules'))) return [];
  await client.query('begin transaction isolation level repeatable read read only');
  try {
    const keys = await client.query<{ fingerprint: string; rules: number }>(KEYS);
    const { rows } = await client.query<{ id: string; rules: number }>(RULES);
    const counts = new Map(rows.map(({ id, rules }) => [id, rules]));
    const found = [
      ...keys.rows.map(
        ({ fingerprint, rules }) =>
          `the credentials of the key ${fingerprint} have ${rules} rules: only those of the oldest ones, up to ${MAX_RULES_PER_KEY}, count. Merge rules, or use several keys`,
      ),
      ...rows
        .filter(({ rules }) => rules > MAX_IP_RULES)
        .map(
          ({ id, rules }) => `the IP policy ${id} has ${rules} rules; the maximum is ${MAX_IP_RULES}. Merge networks`,
        ),
      ...(await closedEdges(client, counts)),
    ];
    if (found.length === 0) return [ok('no key, no IP policy and no edge is beyond a maximum')];
    const left = found.length - MAX_NAMED;
    return [...found.slice(0, MAX_NAMED), ...(left > 0 ? [`${left} more are beyond a maximum`] : [])].map(warning);
  } finally {
    await client.query('rollback');
  }
}

async function closedEdges(client: Primary['client'], counts: ReadonlyMap<string, number>): Promise<string[]> {
  const reader = new PolicyReader();
  const closed: string[] = [];
  for await (const rows of fetchRows<EdgeRow>(client, EDGES)) {
    for (const { id, ip_restriction, value } of rows) {
      const policy = value === null ? undefined : reader.read(value);
      const ids = new Set([...(ip_restriction?.ip_policy_ids ?? []), ...namedBy(policy)]);
      const rules = [...ids].reduce((sum, one) => sum + (counts.get(one) ?? 0), 0);
      const why =
        sentenceOf(beyondMaximum({ ip_restriction }, rules > MAX_IP_RULES)) ??
        (policy instanceof UnreadablePolicy ? `its traffic policy cannot be read: ${policy.message}` : undefined);
      if (why !== undefined) closed.push(`the edge ${id} lets nobody in: ${why}`);
    }
  }
  return closed;
}
