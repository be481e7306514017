import type { Command } from 'commander';
import type { Pool } from 'pg';
import { createAccount } from '../access/accounts/create-account.js';
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
    .option('--admin-email <email>', 'email address of its first admin', 'admin@example.com')
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

async function runCreate(name: string, { adminEmail }: { adminEmail: string }): Promise<void> {
  if (!isEmailAddress(adminEmail)) {
    throw new UsageError(`'${adminEmail}' is not an email address of ASCII characters`);
  }
  if (name.trim() === '' || /\p{Cc}/u.test(name)) {
    throw new UsageError('an account needs a name without control characters');
  }
  await onDatabase(WRITES, async ({ pool }) => {
    const account = await createAccount(logOf(pool), new IdSource(), { name, adminEmail, adminKey: undefined });
    console.error(`account ${account.accountId} '${name}', admin ${account.adminId}; the admin's API key:`);
    console.error(SHOWN_ONCE);
    print(account.adminKey);
  });
}

interface AccountRow {
  readonly id: string;
  readonly created_at: Date;
  readonly events: string;
  readonly name: string;
}

async function printAccounts(pool: Pool): Promise<void> {
  for (const { id, created_at, events, name } of await listAccounts(pool)) {
    print([id, created_at.toISOString(), events, name].join('\t'));
  }
}

async function listAccounts(pool: Pool): Promise<AccountRow[]> {
  const { rows } = await pool.query<AccountRow>(
    `select a.id, a.created_at, h.size as events, a.name from accounts a
     join log_heads h on h.account_id = a.account_id order by a.created_at, a.id`,
  );
  return rows;
}
