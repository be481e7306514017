import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import type { IdSource } from '../../ids.js';
import type { StreamAppend } from '../../log/append/append.js';
import type { EventLog } from '../../log/append/event-log.js';
import type { DomainEvent } from '../../log/event.js';
import { fold, type ReadModel } from '../../log/read-model.js';
import { create as createApiKey, hashToken, TOKEN_SECRET_BYTES, tokenOf } from '../api-keys/api-key.js';
import { apiKeysReadModel } from '../api-keys/api-keys.read-model.js';
import { create } from './account.js';
import { accountsReadModel } from './accounts.read-model.js';
import { createUser } from './principal.js';
import { principalsReadModel } from './principals.read-model.js';

export interface NewAccount {
  readonly accountId: string;
  readonly adminId: string;
  /** The admin's API key. Shown once; the database holds only its hash. */
  readonly adminKey: string;
}

/** Of the first admin of every account, unless the operator names another. It is no address that anyone can have. */
export const DEFAULT_ADMIN_EMAIL = 'admin@localhost';

export async function hasAccounts(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ found: boolean }>('select exists (select from accounts) as found');
  return rows[0]?.found ?? false;
}

/** Creates an account with one admin and one API key in a single append, so that every account has a working key. */
export async function createAccount(
  log: EventLog,
  ids: IdSource,
  args: { name: string; adminEmail: string; adminKey: string | undefined },
): Promise<NewAccount> {
  const occurredAt = ids.now();
  const [accountId, adminId, keyId] = [
    ids.next('ac', occurredAt),
    ids.next('usr', occurredAt),
    ids.next('ak', occurredAt),
  ];
  const adminKey = args.adminKey ?? tokenOf(keyId, randomBytes(TOKEN_SECRET_BYTES));
  const key = { description: 'First admin key', metadata: '', owner_id: adminId, token_hash: hashToken(adminKey) };
  const newStream = <State extends object, Event extends DomainEvent>(
    model: ReadModel<State, Event>,
    id: string,
    events: readonly Event[],
  ): StreamAppend => {
    const after = fold(model, { accountId, id }, undefined, events, occurredAt);
    return { model, id, before: undefined, events, after };
  };
  const streams = [
    newStream(accountsReadModel, accountId, create({ name: args.name, admins: [adminId] })(undefined)),
    newStream(principalsReadModel, adminId, createUser({ email: args.adminEmail, role: 'admin' })(undefined)),
    newStream(apiKeysReadModel, keyId, createApiKey(key)(undefined)),
  ];
  await log.append({ accountId, metadata: { actor: 'system' }, occurredAt, streams });
  return { accountId, adminId, adminKey };
}
