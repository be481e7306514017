import type { ClientBase, Pool } from 'pg';
import type { MaintenanceDatabase } from '../database/index.js';
import type { AnyReadModel } from '../event-log/index.js';
import { UsageError } from '../kernel/operator-error.js';

const MAX_LISTED = 20;

/** The named account, or the only one, and the size of its log. If there is none, the UsageError lists the accounts. */
export async function chosenAccount(
  client: ClientBase | Pool,
  wanted: string | undefined,
): Promise<{ account: string; size: number }> {
  const { rows } = await client.query<{ account_id: string; size: string }>(
    'select account_id, size from log_heads order by account_id = $1 desc, account_id limit $2',
    [wanted ?? '', MAX_LISTED + 1],
  );
  const [first] = rows;
  if (first !== undefined && (wanted === undefined ? rows.length === 1 : first.account_id === wanted)) {
    return { account: first.account_id, size: Number(first.size) };
  }
  const reason = wanted === undefined ? 'name an account with --account' : `there is no account ${wanted}`;
  throw new UsageError(`${reason}; ${listOf(rows.map(({ account_id }) => account_id))}`);
}

function listOf(accounts: readonly string[]): string {
  if (accounts.length === 0) return 'the database has no account yet';
  const more = accounts.length > MAX_LISTED ? ' and more (`accounts list`)' : '';
  return `the accounts are ${accounts.slice(0, MAX_LISTED).join(', ')}${more}`;
}

/** Throws UsageError for a stream that has neither events nor rows: a check of it would always succeed. */
export async function refuseUnknownStream(
  { pool }: Pick<MaintenanceDatabase, 'pool'>,
  models: readonly AnyReadModel[],
  wanted: string | undefined,
): Promise<void> {
  const tables = models.flatMap((model) => model.tables);
  const places = [['events', 'stream_id'], ...tables.map(({ name, primaryKey }) => [name, primaryKey[1]])];
  if (await isNowhere(pool, places, wanted))
    throw new UsageError(`there is no stream ${wanted}: it has no events and no rows here`);
}

/** Throws UsageError for an account that has neither a log nor rows: a check of it would always succeed. */
export async function refuseUnknownAccount(
  { pool }: Pick<MaintenanceDatabase, 'pool'>,
  models: readonly AnyReadModel[],
  wanted: string | undefined,
): Promise<void> {
  const tables = models.flatMap((model) => model.tables.map(({ name }) => name));
  const places = ['log_heads', 'events', 'log_checkpoints', 'log_tiles', ...tables].map((one) => [one, 'account_id']);
  if (await isNowhere(pool, places, wanted))
    throw new UsageError(`there is no account ${wanted}: it has no log and no rows here`);
}

/** `places`: tables, each with its column of the id. */
async function isNowhere(
  pool: Pool,
  places: readonly (readonly (string | undefined)[])[],
  wanted: string | undefined,
): Promise<boolean> {
  if (wanted === undefined) return false;
  const parts = places.map(([table, column]) => `exists (select from ${table} where ${column} = $1)`);
  const { rows } = await pool.query<{ known: boolean }>(`select ${parts.join(' or ')} as known`, [wanted]);
  return rows[0]?.known !== true;
}
