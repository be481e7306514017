import type { Client } from 'pg';
import type { MaintenanceDatabase } from '../database/dedicated-connections.js';
import type { AnyReadModel } from '../log/read-model.js';
import { UsageError } from './exit-codes.js';

const MOST_NAMED = 20;

/** The account that was asked for, or the only one there is, and the size of its log. UsageError names those there are. */
export async function chosenAccount(
  client: Client,
  wanted: string | undefined,
): Promise<{ account: string; size: number }> {
  const { rows } = await client.query<{ account_id: string; size: string }>(
    'select account_id, size from log_heads order by account_id = $1 desc, account_id limit $2',
    [wanted ?? '', MOST_NAMED + 1],
  );
  const [first] = rows;
  if (first !== undefined && (wanted === undefined ? rows.length === 1 : first.account_id === wanted)) {
    return { account: first.account_id, size: Number(first.size) };
  }
  const reason = wanted === undefined ? 'name an account with --account' : `there is no account ${wanted}`;
  const names = rows.slice(0, MOST_NAMED).map(({ account_id }) => account_id);
  const more = rows.length > MOST_NAMED ? ' and more (`accounts list`)' : '';
  throw new UsageError(`${reason}; there are ${names.join(', ') || 'none'}${more}`);
}

/** UsageError when an account was named that has left no trace here: of nothing, all would be well. */
export async function refuseUnknownAccount(
  { dataSource }: Pick<MaintenanceDatabase, 'dataSource'>,
  models: readonly AnyReadModel[],
  wanted: string | undefined,
): Promise<void> {
  if (wanted === undefined) return;
  const tables = ['log_heads', 'events', ...models.flatMap((model) => model.tables.map(({ name }) => name))];
  const parts = tables.map((name) => `exists (select from ${name} where account_id = $1)`);
  const [row] = await dataSource.query<{ known: boolean }[]>(`select ${parts.join(' or ')} as known`, [wanted]);
  if (row?.known !== true) throw new UsageError(`there is no account ${wanted}: it has no log and no rows here`);
}
