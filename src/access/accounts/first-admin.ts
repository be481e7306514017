import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import type { IdSource } from '../../ids.js';
import type { EventLog } from '../../log/append/event-log.js';
import type { DomainEvent, EventMetadata } from '../../log/event.js';
import type { ReadModel } from '../../log/read-model.js';
import { newEvents, partOf } from '../../resources/changes.js';
import { accountsReadModel, apiKeysReadModel, principalsReadModel } from '../access.read-models.js';
import { create as createApiKey, hashToken, TOKEN_SECRET_BYTES, tokenOf } from '../api-keys/api-key.js';
import { create as createAccount } from './account.js';
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
  const part = <State, Event extends DomainEvent>(
    model: ReadModel<State, Event>,
    id: string,
    events: readonly Event[],
  ) => partOf(model, { accountId, id }, undefined, events, at);
  const parts = [
    part(accountsReadModel, accountId, createAccount({ name: args.name, admins: [adminId] })(undefined)),
    part(principalsReadModel, adminId, createUser({ email: args.adminEmail, role: 'admin' })(undefined)),
    part(apiKeysReadModel, keyId, createApiKey(key)(undefined)),
  ];
  await log.append({
    accountId,
    events: parts.flatMap((p) => newEvents(p, SYSTEM, at)),
    changes: parts.flatMap((p) => p.changes),
  });
  return { accountId, adminId, adminKey };
}
