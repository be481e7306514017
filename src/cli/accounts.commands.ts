import type { Command } from 'commander';
import type { Pool } from 'pg';
import { createAccount, DEFAULT_ADMIN_EMAIL } from '../access/accounts/create-account.js';
import { isEmailAddress } from '../access/accounts/email.js';
import { IdSource } from '../ids.js';
import { UsageError } from '../operator-error.js';
import { logOf, SHOWN_ONCE } from './api-keys.commands.js';
import { withExamples } from './help.js';
import { print } from './print.js';
import { onDatabase, READS, WRITES } from './run-on-database.js';

export function addAccountCommands(program: Command): void {
  const accounts = program
    .command('accounts')
    .description('Create and list accounts. Each account has its own log, principals and resources');
  withExamples(accounts, "accounts create 'Example Ltd' --admin-email admin@example.com", 'accounts list');
  const create = accounts
    .command('create')
    .description('Create an account with an admin, and print the API key of the admin on stdout. It is shown only once')
    .argument('<name>', 'name of the account')
    .option('--admin-email <email>', `email address of its first admin (default: ${DEFAULT_ADMIN_EMAIL})`)
    .option('--same-name', 'create it even if there is an account of this name')
    .action(runCreate);
  withExamples(create, "accounts create 'Example Ltd' --admin-email admin@example.com");
  const list = accounts
    .command('list')
    .description(
      'List the accounts, the oldest first. Each line holds the id, creation time, number of events and name, separated by tabs',
    )
    .action(() => onDatabase(READS, ({ pool }) => printAccounts(pool)));
  withExamples(list, 'accounts list');
}

interface CreateOptions {
  readonly adminEmail?: string;
  readonly sameName?: true;
}

async function runCreate(name: string, { adminEmail, sameName }: CreateOptions): Promise<void> {
  if (adminEmail !== undefined && !isEmailAddress(adminEmail)) {
    throw new UsageError(`'${adminEmail}' is not an email address of ASCII characters`);
  }
  if (name.trim() === '' || /\p{Cc}/u.test(name)) {
    throw new UsageError('an account needs a name without control characters');
  }
  await onDatabase(WRITES, async ({ pool }) => {
    if (sameName === undefined) await refuseTakenName(pool, name);
    const args = { name, adminEmail: adminEmail ?? DEFAULT_ADMIN_EMAIL, adminKey: undefined };
    const account = await createAccount(logOf(pool), new IdSource(), args);
    console.error(`account ${account.accountId} '${name}', admin ${account.adminId}; the admin's API key:`);
    console.error(SHOWN_ONCE);
    print(account.adminKey);
  });
}

/** Names need not be unique, but a repeated command is rarely meant. */
async function refuseTakenName(pool: Pool, name: string): Promise<void> {
  const { rows } = await pool.query<{ id: string }>('select id from accounts where name = $1 order by id limit 1', [
    name,
  ]);
  const [taken] = rows;
  if (taken === undefined) return;
  throw new UsageError(`account ${taken.id} has the name '${name}': choose another name, or add --same-name`);
}

interface AccountRow {
  readonly id: string;
  readonly created_at: Date;
  readonly events: string;
  readonly name: string;
}

async function printAccounts(pool: Pool): Promise<void> {
  const { rows } = await pool.query<AccountRow>(
    `select a.id, a.created_at, h.size as events, a.name from accounts a
     join log_heads h on h.account_id = a.account_id order by a.created_at, a.id`,
  );
  for (const { id, created_at, events, name } of rows) print([id, created_at.toISOString(), events, name].join('\t'));
}
