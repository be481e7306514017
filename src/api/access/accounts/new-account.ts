import { randomBytes } from 'node:crypto';
import {
  type DomainEvent,
  type EventLog,
  eventIdOf,
  fold,
  type ReadModel,
  type StreamAppend,
} from '../../../event-log/index.js';
import type { IdSource } from '../../../kernel/ids.js';
import { create as createApiKey, hashToken, TOKEN_SECRET_BYTES, tokenOf } from '../api-keys/api-key.js';
import { apiKeysReadModel } from '../api-keys/api-keys.read-model.js';
import { create } from './account.js';
import { accountsReadModel } from './accounts.read-model.js';
import { createUser } from './principal.js';
import { principalsReadModel } from './principals.read-model.js';

const BY_SERVICE = { actor: 'system' };

export interface AccountAndAdmin {
  readonly accountId: string;
  readonly adminId: string;
}

export interface NewAccount extends AccountAndAdmin {
  /** The admin's API key. Shown once; the database holds only its hash. */
  readonly adminKey: string;
}

interface AccountArgs {
  readonly name: string;
  readonly adminEmail: string;
}

/** Creates an account with one admin and one API key in a single append, so that it has a working key at once. */
export async function createAccount(
  log: EventLog,
  ids: IdSource,
  { adminKey, ...args }: AccountArgs & { readonly adminKey: string | undefined },
): Promise<NewAccount> {
  const occurredAt = ids.now();
  const account = draftAccount(ids, args, occurredAt);
  const { token, stream } = draftKey(ids, account, adminKey, occurredAt);
  const { accountId, adminId, eventId } = account;
  const streams = [...account.streams, { ...stream, causedBy: eventId }];
  await log.append({ accountId, metadata: BY_SERVICE, occurredAt, streams });
  return { accountId, adminId, adminKey: token };
}

/** Creates an account with its admin but without a key, which the operator or a later start makes. */
export async function createAccountWithoutKey(
  log: EventLog,
  ids: IdSource,
  args: AccountArgs,
): Promise<AccountAndAdmin> {
  const occurredAt = ids.now();
  const { streams, accountId, adminId } = draftAccount(ids, args, occurredAt);
  await log.append({ accountId, metadata: BY_SERVICE, occurredAt, streams });
  return { accountId, adminId };
}

/** Gives the admin of an account without a key this key, or a random one. Returns it. */
export async function createFirstKey(
  log: EventLog,
  ids: IdSource,
  account: AccountAndAdmin,
  adminKey: string | undefined,
): Promise<string> {
  const occurredAt = ids.now();
  const { token, stream } = draftKey(ids, account, adminKey, occurredAt);
  await log.append({ accountId: account.accountId, metadata: BY_SERVICE, occurredAt, streams: [stream] });
  return token;
}

function draftAccount(ids: IdSource, { name, adminEmail }: AccountArgs, at: Date) {
  const [accountId, adminId] = [ids.next('ac', at), ids.next('usr', at)];
  const eventId = eventIdOf(BY_SERVICE);
  const account = newStream(accountsReadModel, accountId, accountId, create({ name, admins: [adminId] }), at);
  const user = createUser({ email: adminEmail, role: 'admin' });
  const admin = newStream(principalsReadModel, accountId, adminId, user, at);
  return {
    accountId,
    adminId,
    eventId,
    streams: [
      { ...account, eventId },
      { ...admin, causedBy: eventId },
    ],
  };
}

function draftKey(ids: IdSource, { accountId, adminId }: AccountAndAdmin, given: string | undefined, at: Date) {
  const keyId = ids.next('ak', at);
  const token = given ?? tokenOf(keyId, randomBytes(TOKEN_SECRET_BYTES));
  const key = { description: 'First admin key', metadata: '', owner_id: adminId, token_hash: hashToken(token) };
  return { token, stream: newStream(apiKeysReadModel, accountId, keyId, createApiKey(key), at) };
}

function newStream<State extends object, Event extends DomainEvent>(
  model: ReadModel<State, Event>,
  accountId: string,
  id: string,
  events: readonly Event[],
  at: Date,
): StreamAppend {
  return { model, id, before: undefined, events, after: fold(model, { accountId, id }, undefined, events, at) };
}
