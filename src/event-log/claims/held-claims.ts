import type { ClientBase } from 'pg';
import { fetchRows, sqlLiteral } from '../../database/index.js';
import { type AnyReadModel, type ClaimedColumn, claimValue } from '../read-model.js';

/** A claim that differs from the log, in the form of a difference between a table and the log. */
export interface ClaimDifference {
  readonly table: string;
  readonly account: string;
  readonly key: string;
  readonly field: string;
  readonly live: string;
  readonly log: string;
}

/** A claim that the rows of the log make more often than the live rows, or less often. */
export interface ClaimChange {
  readonly value: string;
  readonly account: string;
  readonly change: number;
}

/** SQL of the claims of the live rows, corrected by the changes in $1. */
const corrected = (held: string): string =>
  `select value, account_id, sum(holders)::int as holders from (${held} union all select value collate "C", account collate "C",
    change from json_to_recordset($1::json) as c(value text, account text, change int)) h
  group by value, account_id having sum(holders) > 0`;

/**
 * SQL of the claims that the rows of these models make. Undefined if these models make no claims. `condition` selects
 * rows by the column and kind of their claims.
 */
function heldBy(models: readonly AnyReadModel[], condition: (claimed: ClaimedColumn) => string): string | undefined {
  const parts = models.flatMap(({ tables }) =>
    tables.flatMap(({ name, claimed }) =>
      claimed === undefined
        ? []
        : `select '${claimValue(claimed.kind, '')}' || ${claimed.column} as value, account_id, count(*)::int as holders
          from ${name} where ${condition(claimed)} group by ${claimed.column}, account_id`,
    ),
  );
  return parts.length === 0 ? undefined : parts.join(' union all ');
}

/** SQL of the stored claims of the kinds of these models. */
function storedOf(models: readonly AnyReadModel[], account: string | undefined): string {
  const tables = models.flatMap((model) => model.tables);
  const kinds = tables.flatMap(({ claimed }) => (claimed === undefined ? [] : sqlLiteral(claimed.kind)));
  const ofAccount = account === undefined ? '' : ` and account_id = ${sqlLiteral(account)}`;
  return `select c.*, exclusive or exists (${EXCLUSIVE_OR_FIRST}) as is_placed from claims c
    where split_part(value, ':', 1) in (${kinds.join(', ')})${ofAccount}`;
}

/** A claim of the value of `c` that is exclusive, or whose account comes first: of the claims of a value one is exclusive. */
const EXCLUSIVE_OR_FIRST =
  'select from claims o where o.value = c.value and (o.exclusive or o.account_id < c.account_id)';

/** SQL of the claims that differ. For a claim that is missing, or that is one too many, the field is `holders`. */
const differing = (stored: string, held: string): string =>
  `select 'claims' as table, account_id as account, value as key, field, coalesce(live, 'NULL') as live,
    coalesce(log, 'NULL') as log
  from (${stored}) stored full join (${held}) held using (value, account_id) cross join lateral (values
    ('holders', stored.holders::text, held.holders::text),
    ('exclusive', stored.exclusive::text, (stored.exclusive or not stored.is_placed)::text)) f(field, live, log)
  where live is distinct from log order by account_id, value, field desc`;

/**
 * Yields the claims that differ from the log, for the proof and the repair. `changes` are what the claims of the log have
 * more or less than those of the live rows, and none if the rows are right.
 */
export async function* claimDifferences(
  client: ClientBase,
  models: readonly AnyReadModel[],
  account?: string,
  changes: readonly ClaimChange[] = [],
): AsyncGenerator<readonly ClaimDifference[]> {
  const held = heldBy(models, () => (account === undefined ? 'true' : `account_id = ${sqlLiteral(account)}`));
  if (held === undefined) return;
  const [ofLog, values] = changes.length === 0 ? [held, []] : [corrected(held), [JSON.stringify(changes)]];
  yield* fetchRows<{ [K in keyof ClaimDifference]: string }>(
    client,
    differing(storedOf(models, account), ofLog),
    values,
  );
}

/**
 * Makes the claims of an account from its rows: those in `values`, or without `values` all, if the account has no
 * claims yet. The transaction must have locked the head of the log. If another account has claimed a value, both
 * accounts have it from then on.
 */
export async function rewriteClaims(
  client: ClientBase,
  models: readonly AnyReadModel[],
  account: string,
  values?: readonly string[],
): Promise<void> {
  const held = heldBy(models, (claimed) => `account_id = $1 ${values === undefined ? '' : isOneOf(claimed)}`);
  if (held === undefined) return;
  const parameters = values === undefined ? [account] : [account, values];
  if (values !== undefined) {
    await client.query(
      `delete from claims c where c.account_id = $1 and c.value = any ($2)
        and not exists (select from (${held}) held where held.value = c.value)`,
      parameters,
    );
  }
  await client.query(
    `${INSERT} select value, account_id, holders, true from (${held}) held order by value on conflict do nothing`,
    parameters,
  );
  await client.query(
    `${INSERT} select value, account_id, holders, false from (${held}) held order by value
      on conflict (value, account_id) do update set holders = excluded.holders where c.holders <> excluded.holders`,
    parameters,
  );
  if (values === undefined) return;
  await client.query(
    `update claims c set exclusive = true where account_id = $1 and value = any ($2) and not exclusive
      and not exists (${EXCLUSIVE_OR_FIRST})`,
    parameters,
  );
}

/** Those of `values` whose claims of an account differ from its rows. */
export async function wrongClaims(
  client: ClientBase,
  models: readonly AnyReadModel[],
  account: string,
  values: readonly string[],
): Promise<readonly string[]> {
  const held = heldBy(models, (claimed) => `account_id = $1 ${isOneOf(claimed)}`);
  if (held === undefined) return [];
  const { rows } = await client.query<{ value: string }>(
    `select value from (select * from claims where account_id = $1 and value = any ($2)) stored full join (${held}) held
      using (value) where stored.holders is distinct from held.holders order by value`,
    [account, values],
  );
  return rows.map(({ value }) => value);
}

/** Compares the column itself, so that an index finds the rows. */
const isOneOf = ({ kind, column }: ClaimedColumn): string => {
  const prefix = claimValue(kind, '');
  return `and ${column} = any (array(
    select substr(value, ${prefix.length + 1}) from unnest($2::text[]) value where starts_with(value, '${prefix}')))`;
};

const INSERT = 'insert into claims as c (value, account_id, holders, exclusive)';
