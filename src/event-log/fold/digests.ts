import { createHash } from 'node:crypto';
import type { ClientBase } from 'pg';
import { to } from 'pg-copy-streams';
import { sqlLiteral } from '../../database/index.js';
import type { AnyReadModel, Table } from '../read-model.js';

/** The digest of the rows of one table. It is equal on all servers with the same log. */
interface TableDigest {
  readonly table: string;
  /** SHA-256, in hex. */
  readonly digest: string;
}

/** The digests of the tables in one snapshot. Two databases with equal rows have equal digests. */
export interface Digests {
  /** The size of the account's log, or the sum of the sizes of all logs. */
  readonly position: string;
  /** The digest of the sizes of the logs comes first, then those of the read models' tables. */
  readonly tables: readonly TableDigest[];
}

type Digested = Pick<Table<never>, 'name' | 'columns' | 'primaryKey'>;

/** The size of each log. The other columns of a head may differ between servers. */
const HEADS: Digested = { name: 'log_heads', columns: ['account_id', 'size'], primaryKey: ['account_id'] };

/**
 * Digests the tables of read models in the snapshot of the client's transaction. It covers the columns that events
 * make, and leaves out others, such as generated columns. `account` is undefined for all accounts.
 */
export async function digestsOf(
  client: ClientBase,
  models: readonly AnyReadModel[],
  account: string | undefined,
): Promise<Digests> {
  await client.query(ONE_SPELLING);
  const { rows } = await client.query<{ position: string }>(POSITION, [account ?? null]);
  const tables: TableDigest[] = [];
  for (const table of [HEADS, ...models.flatMap((model) => model.tables)]) {
    tables.push({ table: table.name, digest: await digestOf(client, table, account) });
  }
  return { position: rows[0]?.position ?? '0', tables };
}

const POSITION = `select coalesce(sum(size), 0)::text as position from log_heads where $1::text is null or account_id = $1`;

/** Fixes the settings that change how COPY prints values, whatever the server, database or role has. */
const ONE_SPELLING = `set local timezone = 'UTC'; set local datestyle = 'ISO'`;

/** Hashes the rows in the order of the bytes of their keys. */
async function digestOf(client: ClientBase, table: Digested, account: string | undefined): Promise<string> {
  const { name, columns, primaryKey } = table;
  const where = account === undefined ? '' : `where account_id = ${sqlLiteral(account)}`;
  const order = primaryKey.map((column) => `${column} collate "C"`);
  const hash = createHash('sha256');
  const rows = client.query(to(`copy (select ${columns} from ${name} ${where} order by ${order}) to stdout`));
  for await (const chunk of rows as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest('hex');
}
