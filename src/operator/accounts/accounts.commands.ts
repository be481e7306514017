import type { Command } from 'commander';
import type { Pool } from 'pg';
import { DEFAULT_ADMIN_EMAIL } from '../../api/access/accounts/default-admin-email.js';
import { withExamples } from '../help.js';
import { onDatabase, READS } from '../run-on-database.js';
import { type Columns, JSON_OPTION, type Printing, printItems } from '../table.js';
import type { CreateOptions } from './create-account.js';

export function accountsCommands(accounts: Command): void {
  withExamples(accounts, "accounts create 'Example Ltd' --admin-email admin@example.com", 'accounts list');
  const create = accounts
    .command('create')
    .description('Create an account with an admin, and print the API key of the admin on stdout. It is shown only once')
    .argument('<name>', 'name of the account')
    .option('--admin-email <email>', `email address of its first admin (default: ${DEFAULT_ADMIN_EMAIL})`)
    .option('--same-name', 'create it even if there is an account of this name')
    .action(async (name: string, options: CreateOptions) => {
      // Imported late, since most commands do not need the framework.
      const { runCreate } = await import('./create-account.js');
      await runCreate(name, options);
    });
  withExamples(create, "accounts create 'Example Ltd' --admin-email admin@example.com");
  const list = accounts
    .command('list')
    .description(
      'List the accounts, the oldest first. Each line holds the id, creation time, number of events and name, separated by tabs',
    )
    .option(...JSON_OPTION)
    .action((options: Printing) => onDatabase(READS, ({ pool }) => printAccounts(pool, options)));
  withExamples(list, 'accounts list');
}

interface AccountRow {
  readonly id: string;
  readonly created_at: Date;
  readonly events: number;
  readonly name: string;
}

const COLUMNS: Columns<AccountRow> = {
  ID: ({ id }) => id,
  CREATED: ({ created_at }) => created_at.toISOString(),
  EVENTS: ({ events }) => String(events),
  NAME: ({ name }) => name,
};

async function printAccounts(pool: Pool, options: Printing): Promise<void> {
  const { rows } = await pool.query<AccountRow>(
    `select a.id, a.created_at, h.size::float8 as events, a.name from accounts a
     join log_heads h on h.account_id = a.account_id order by a.created_at, a.id`,
  );
  printItems(rows, COLUMNS, options);
}
