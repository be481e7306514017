import type { Pool } from 'pg';
import { DEFAULT_ADMIN_EMAIL } from '../../api/access/accounts/default-admin-email.js';
import { isEmailAddress } from '../../api/access/accounts/email.js';
import { createAccount } from '../../api/access/accounts/new-account.js';
import { EventLog } from '../../event-log/index.js';
import { IdSource } from '../../kernel/ids.js';
import { UsageError } from '../../kernel/operator-error.js';
import { print } from '../print.js';
import { onDatabase, WRITES } from '../run-on-database.js';
import { SHOWN_ONCE } from './api-keys.commands.js';

export interface CreateOptions {
  readonly adminEmail?: string;
  readonly sameName?: true;
}

export async function runCreate(name: string, { adminEmail, sameName }: CreateOptions): Promise<void> {
  if (adminEmail !== undefined && !isEmailAddress(adminEmail)) {
    throw new UsageError(`'${adminEmail}' is not an email address of ASCII characters`);
  }
  if (name.trim() === '' || /\p{Cc}/u.test(name)) {
    throw new UsageError('an account needs a name without control characters');
  }
  await onDatabase(WRITES, async ({ pool }) => {
    if (sameName === undefined) await refuseTakenName(pool, name);
    const args = { name, adminEmail: adminEmail ?? DEFAULT_ADMIN_EMAIL, adminKey: undefined };
    const account = await createAccount(new EventLog(pool, console.error), new IdSource(), args);
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
