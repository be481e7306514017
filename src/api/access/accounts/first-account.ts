import type { ClientBase, Pool } from 'pg';
import type { EventLog } from '../../../event-log/index.js';
import type { IdSource } from '../../../kernel/ids.js';
import type { ApiKeyEvent } from '../api-keys/api-key.js';
import { DEFAULT_ADMIN_EMAIL } from './default-admin-email.js';
import { type AccountAndAdmin, createAccount, createAccountWithoutKey, createFirstKey } from './new-account.js';

/** The account that a start found or created, and where the key of its admin comes from. */
export interface FirstAccount {
  readonly accountId: string;
  readonly isNew: boolean;
  /** `earlier`: the account has had a key before this start. `none`: it has never had one. */
  readonly key: 'generated' | 'given' | 'earlier' | 'none';
  /** The key, if it is generated. The database holds only its hash. */
  readonly adminKey?: string;
}

interface KeyOptions {
  /** The key that the operator chose. */
  readonly given: string | undefined;
  /** Whether a generated key may be printed. */
  readonly mayGenerate: boolean;
}

interface Parts {
  readonly pool: Pool;
  readonly eventLog: EventLog;
  readonly ids: IdSource;
}

const KEY_CREATED: ApiKeyEvent['type'] = 'api_key_created.v1';
const FIRST_ACCOUNT = { name: 'Default', adminEmail: DEFAULT_ADMIN_EMAIL };

/**
 * Finds or creates the first account, its admin and the admin's key. Without a key, the account and its admin exist all
 * the same, so that `api-keys create` works. A later start makes the key, but never a second one: a key that was
 * revoked must not come back.
 */
export async function requireFirstAccount(
  { pool, eventLog, ids }: Parts,
  { given, mayGenerate }: KeyOptions,
): Promise<FirstAccount> {
  const found = await findOldestAccount(pool);
  const isNew = found === undefined;
  if (found?.hasHadKey === true) return { accountId: found.accountId, isNew, key: 'earlier' };
  if (given === undefined && !mayGenerate) {
    const { accountId } = found ?? (await createAccountWithoutKey(eventLog, ids, FIRST_ACCOUNT));
    return { accountId, isNew, key: 'none' };
  }
  const { accountId, adminKey } =
    found === undefined
      ? await createAccount(eventLog, ids, { ...FIRST_ACCOUNT, adminKey: given })
      : { ...found, adminKey: await createFirstKey(eventLog, ids, found, given) };
  return { accountId, isNew, ...(given === undefined ? { key: 'generated', adminKey } : { key: 'given' }) };
}

/** The oldest account, one of its admins, and whether it has ever had an API key. */
export async function findOldestAccount(
  connection: Pool | ClientBase,
): Promise<(AccountAndAdmin & { hasHadKey: boolean }) | undefined> {
  const { rows } = await connection.query(
    `select a.account_id as "accountId", a.admins[1] as "adminId",
       exists (select from events e where e.account_id = a.account_id and e.type = $1) as "hasHadKey"
     from accounts a order by a.created_at, a.id limit 1`,
    [KEY_CREATED],
  );
  return rows[0];
}
