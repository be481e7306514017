import { createHash } from 'node:crypto';
import type { ClientBase } from 'pg';
import { to } from 'pg-copy-streams';
import { sqlLiteral } from '../../database/index.js';
import type { AnyReadModel, Table } from '../read-model.js';

/** The digest of the rows of one table, which is that of every server with the same log. */
interface TableDigest {
  readonly table: string;
  /** SHA-256, in hex. */
  readonly digest: string;
}

/** The digests of the tables as of one snapshot: those of two databases are equal if their rows are. */
export interface Digests {
  /** The size of the log; of all accounts: of their logs together. */
  readonly position: string;
  /** The sizes of the logs come first, then the tables of the read models. */
  readonly tables: readonly TableDigest[];
}

type Digested = Pick<Table<never>, 'name' | 'columns' | 'primaryKey'>;

/** Where each log ends. The rest of a head is about one server. */
const HEADS: Digested = { name: 'log_heads', columns: ['account_id', 'size'], primaryKey: ['account_id'] };

/**
 * Digests the tables of read models as of the snapshot of the client's transaction. A read model names the columns that
 * events make, so all else, such as a generated column, stays out. `account`: undefined for all.
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

/** Settings of a server, database or role that change how PostgreSQL prints values, as COPY does in its text format. */
const ONE_SPELLING = `set local timezone = 'UTC'; set local datestyle = 'ISO'`;

/** Hashes the rows as they come, in the order of the bytes of their keys: an index has it, unless someone changed a collation. */
async function digestOf(client: ClientBase, table: Digested, account: string | undefined): Promise<string> {
  const { name, columns, primaryKey } = table;
  const where = account === undefined ? '' : `where account_id = ${sqlLiteral(account)}`;
  const order = primaryKey.map((column) => `${column} collate "C"`);
  const hash = createHash('sha256');
  const rows = client.query(to(`copy (select ${columns} from ${name} ${where} order by ${order}) to stdout`));
  for await (const chunk of rows as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest('hex');
}
