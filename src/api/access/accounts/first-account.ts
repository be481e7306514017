import type { Pool } from 'pg';
import type { EventLog } from '../../../event-log/index.js';
import type { IdSource } from '../../../kernel/ids.js';
import { createAccount, createAccountWithoutKey, createFirstKey, findOldestAccount } from './create-account.js';
import { DEFAULT_ADMIN_EMAIL } from './default-admin-email.js';

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

const FIRST_ACCOUNT = { name: 'Default', adminEmail: DEFAULT_ADMIN_EMAIL };

/**
 * Sees to the first account and its admin's key. Without a key, the account and its admin exist all the same, so that
 * `api-keys create` works. A later start makes the key if it has one then. It never does so twice, since a key that was
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
