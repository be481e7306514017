import type { ClientBase } from 'pg';
import { sqlLiteral } from '../../database/copy/sql-literal.js';
import { fetchRows } from '../../database/cursor.js';
import { type AnyReadModel, claimValue } from '../read-model.js';

/** A claim that is not that of the rows, in the form of a difference between a table and the log. */
export interface ClaimDifference {
  readonly table: string;
  readonly account: string;
  readonly key: string;
  readonly field: string;
  readonly live: string;
  readonly log: string;
}

/** SQL of the claims that the rows of these models make; undefined if they make none. */
function heldBy(models: readonly AnyReadModel[], account: string | undefined): string | undefined {
  const tables = models.flatMap((model) => model.tables);
  const ofAccount = account === undefined ? '' : `where account_id = ${sqlLiteral(account)}`;
  const parts = tables.flatMap(({ name, claimed }) =>
    claimed === undefined
      ? []
      : `select '${claimValue(claimed.kind, '')}' || ${claimed.column} as value, account_id, count(*)::int as holders
        from ${name} ${ofAccount} group by ${claimed.column}, account_id`,
  );
  return parts.length === 0 ? undefined : parts.join(' union all ');
}

/** SQL of the claims that there are of the kinds of these models. */
function storedOf(models: readonly AnyReadModel[], account: string | undefined): string {
  const tables = models.flatMap((model) => model.tables);
  const kinds = tables.flatMap(({ claimed }) => (claimed === undefined ? [] : sqlLiteral(claimed.kind)));
  const ofAccount = account === undefined ? '' : ` and account_id = ${sqlLiteral(account)}`;
  return `select * from claims where split_part(value, ':', 1) in (${kinds.join(', ')})${ofAccount}`;
}

const DIFFERENCE = `select 'claims' as table, account_id as account, value as key, 'holders' as field,
  coalesce(stored.holders::text, 'NULL') as live, coalesce(held.holders::text, 'NULL') as log`;

/** What the proof names, and a rebuild repairs. */
export async function* claimDifferences(
  client: ClientBase,
  models: readonly AnyReadModel[],
  account?: string,
): AsyncGenerator<readonly ClaimDifference[]> {
  const held = heldBy(models, account);
  if (held === undefined) return;
  yield* fetchRows<{ [K in keyof ClaimDifference]: string }>(
    client,
    `${DIFFERENCE} from (${storedOf(models, account)}) stored full join (${held}) held using (value, account_id)
      where stored.holders is distinct from held.holders order by account_id, value`,
  );
}

/**
 * Makes the claims of an account those of its rows. The transaction must have locked the head of its log. A value that
 * another account has claimed is shared from then on.
 */
export async function claimAnew(client: ClientBase, models: readonly AnyReadModel[], account: string): Promise<void> {
  const held = heldBy(models, account);
  if (held === undefined) return;
  await client.query(`delete from claims c using (${storedOf(models, account)}) stored
    where c.value = stored.value and c.account_id = stored.account_id
      and not exists (select from (${held}) held where held.value = c.value)`);
  await client.query(`${INSERT} select value, account_id, holders, true from (${held}) held order by value
    on conflict do nothing`);
  await client.query(`${INSERT} select value, account_id, holders, false from (${held}) held order by value
    on conflict (value, account_id) do update set holders = excluded.holders where c.holders <> excluded.holders`);
}

const INSERT = 'insert into claims as c (value, account_id, holders, exclusive)';
