import { randomBytes } from 'node:crypto';
import { isEmail } from 'class-validator';
import type { Command } from 'commander';
import type { Pool } from 'pg';
import { createAccount } from '../access/accounts/first-admin.js';
import { create, hashToken, TOKEN_SECRET_BYTES, tokenOf } from '../access/api-keys/api-key.js';
import { API_KEYS } from '../access/api-keys/api-keys.resource.js';
import type { Database } from '../database/database.js';
import { IdSource } from '../ids.js';
import { EventLog } from '../log/append/event-log.js';
import { Problem } from '../problem.js';
import { makeRunners } from '../runners.js';

type OnDatabase = (work: (database: Database) => Promise<void>) => Promise<void>;

const logOf = (pool: Pool): EventLog => new EventLog(pool, console.error);
const SHOWN_ONCE = 'it is shown this once, only its hash is kept';

export function addAccountCommands(program: Command, onDatabase: OnDatabase): void {
  const accounts = program.command('accounts').description('Accounts: each has its own log, principals and resources');
  accounts
    .command('create')
    .description('Make an account with an admin, and print the admin’s API key, this once, on stdout')
    .argument('<name>', 'what people call the account')
    .option('--admin-email <email>', 'email of its first admin', 'admin@example.com')
    .action((name: string, { adminEmail }: { adminEmail: string }) =>
      onDatabase(async ({ pool }) => {
        if (!isEmail(adminEmail, { allow_utf8_local_part: false })) {
          throw new Problem('request_malformed', `'${adminEmail}' is not an email address of ASCII characters`);
        }
        if (name.trim() === '' || /\p{Cc}/u.test(name)) {
          throw new Problem('request_malformed', 'an account needs a name, without control characters');
        }
        const account = await createAccount(logOf(pool), new IdSource(), { name, adminEmail, adminKey: undefined });
        console.error(`account ${account.accountId} '${name}', admin ${account.adminId}; the admin's API key:`);
        console.error(SHOWN_ONCE);
        console.log(account.adminKey);
      }),
    );
  accounts
    .command('list')
    .description('List the accounts, oldest first: id, creation time, events in the log, name; divided by tabs')
    .action(() =>
      onDatabase(async ({ pool }) => {
        for (const { id, created_at, events, name } of await listAccounts(pool)) {
          console.log([id, created_at.toISOString(), events, name].join('\t'));
        }
      }),
    );
}

export function addApiKeyCommands(program: Command, onDatabase: OnDatabase): void {
  program
    .command('api-keys')
    .description('API keys, for an operator who has lost theirs')
    .command('create')
    .description('Make an API key and print it, this once, on stdout')
    .option('--owner <id>', 'the user or bot it is for; without it, the oldest active admin of the oldest account')
    .option('--description <text>', 'what the key is for', 'Made by the operator')
    .action((options: { owner?: string; description: string }) =>
      onDatabase(async ({ pool }) => {
        const { token, ownerId } = await createApiKey(pool, options);
        console.error(`API key for ${ownerId}; ${SHOWN_ONCE}`);
        console.log(token);
      }),
    );
}

interface AccountRow {
  readonly id: string;
  readonly created_at: Date;
  readonly events: string;
  readonly name: string;
}

async function listAccounts(pool: Pool): Promise<AccountRow[]> {
  const { rows } = await pool.query<AccountRow>(
    `select a.id, a.created_at, h.size as events, a.name from accounts a
     join log_heads h on h.account_id = a.account_id order by a.created_at, a.id`,
  );
  return rows;
}

interface OwnerRow {
  readonly account_id: string;
  readonly id: string;
}

async function createApiKey(
  pool: Pool,
  { owner, description }: { owner?: string; description: string },
): Promise<{ token: string; ownerId: string }> {
  const { account_id: accountId, id: ownerId } = await findOwner(pool, owner);
  const secret = randomBytes(TOKEN_SECRET_BYTES);
  const { changes } = makeRunners(pool, logOf(pool), new IdSource());
  const context = { accountId, metadata: { actor: 'operator' } };
  const decide = (id: string) =>
    create({ description, metadata: '', owner_id: ownerId, token_hash: hashToken(tokenOf(id, secret)) })(undefined);
  const { entity } = await changes.create(API_KEYS, context, decide);
  const token = tokenOf(entity?.id ?? '', secret);
  return { token, ownerId };
}

async function findOwner(pool: Pool, id: string | undefined): Promise<OwnerRow> {
  const { rows } = await pool.query<OwnerRow>(
    `select account_id, id from principals
     where active and (id = $1 or ($1::text is null and role = 'admin')) order by created_at, id limit 1`,
    [id ?? null],
  );
  const [owner] = rows;
  if (owner !== undefined) return owner;
  throw new Problem(
    'not_found',
    id === undefined
      ? 'there is no active admin here; start the service once, it creates the first account'
      : `there is no active user or bot '${id}'`,
  );
}
