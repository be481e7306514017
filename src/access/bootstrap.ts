import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import type { DomainEvent, EventMetadata } from '../event-log/event.js';
import type { EventLog } from '../event-log/event-log.js';
import { fold, type ReadModel } from '../event-log/read-model.js';
import { newEvents } from '../event-log/streams.js';
import { tableChanges } from '../event-log/table-change.js';
import type { IdSource } from '../ids.js';
import { accountsReadModel, apiKeysReadModel, principalsReadModel } from './access.read-models.js';
import { create as createAccount } from './account.js';
import { create as createApiKey, hashToken, TOKEN_SECRET_BYTES, tokenOf } from './api-key.js';
import { createUser } from './principal.js';

export interface NewAccount {
  readonly accountId: string;
  readonly adminId: string;
  /** The admin's API key. Shown once, stored nowhere. */
  readonly adminKey: string;
}

const SYSTEM: EventMetadata = { actor: 'system' };

export async function hasAccounts(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ found: boolean }>('select exists (select from accounts) as found');
  return rows[0]?.found ?? false;
}

/** Creates an account with one admin user and one API key, all in one append: there is never an account nobody can enter. */
export async function openAccount(
  log: EventLog,
  ids: IdSource,
  args: { name: string; adminEmail: string; adminKey: string | undefined },
): Promise<NewAccount> {
  const at = ids.now();
  const [accountId, adminId, keyId] = [ids.next('ac', at), ids.next('usr', at), ids.next('ak', at)];
  const adminKey = args.adminKey ?? tokenOf(keyId, randomBytes(TOKEN_SECRET_BYTES));
  const key = { ownerId: adminId, description: 'First admin key', metadata: '', tokenHash: hashToken(adminKey) };
  const parts = [
    firstEvents(accountsReadModel, accountId, accountId, createAccount({ name: args.name })(undefined), at),
    firstEvents(
      principalsReadModel,
      accountId,
      adminId,
      createUser({ email: args.adminEmail, role: 'admin' })(undefined),
      at,
    ),
    firstEvents(apiKeysReadModel, accountId, keyId, createApiKey(key)(undefined), at),
  ];
  await log.append({
    accountId,
    events: parts.flatMap((part) => part.events),
    changes: parts.flatMap((part) => part.changes),
  });
  return { accountId, adminId, adminKey };
}

function firstEvents<State, Event extends DomainEvent>(
  model: ReadModel<State, Event>,
  accountId: string,
  id: string,
  events: readonly Event[],
  at: Date,
) {
  const entity = fold(model, { accountId, id }, undefined, events, at);
  return { events: newEvents(id, 0, events, SYSTEM, at), changes: tableChanges(model, undefined, entity) };
}
