import { hash } from 'node:crypto';
import type { Caller } from '../../../kernel/caller.js';
import { Problem } from '../../../kernel/problem.js';
import { isOwnerOrAdmin } from '../../resources/access-rules.js';
import { updatedEvents } from '../../resources/changed-fields.js';
import { type Expiring, type ExpiryChange, expiryEvents, expiryOf } from '../../resources/expiry/expiry.js';

/** Storage format: the log holds these types. Add fields as optional; for any other change add a new version. */
export type ApiKeyEvent =
  | { readonly type: 'api_key_created.v1'; readonly data: NewApiKey }
  | { readonly type: 'api_key_updated.v1'; readonly data: ApiKeyUpdate }
  | { readonly type: 'api_key_expiry_changed.v1'; readonly data: ExpiryChange }
  | { readonly type: 'api_key_deleted.v1'; readonly data: Readonly<Record<string, never>> };

/** The created event holds this state. */
export interface NewApiKey {
  readonly description: string;
  readonly metadata: string;
  readonly owner_id: string;
  /** SHA-256 of the token, hex. Only the answer that created the key has the token itself. */
  readonly token_hash: string;
}

/** The table has a column for each field. */
export interface ApiKey extends NewApiKey, Expiring {}

/** Only the fields that change. */
export type ApiKeyUpdate = Partial<Pick<ApiKey, 'description' | 'metadata'>>;

export function evolve(state: ApiKey | undefined, event: ApiKeyEvent): ApiKey | undefined {
  switch (event.type) {
    case 'api_key_created.v1':
      return event.data;
    case 'api_key_updated.v1':
      return state === undefined ? undefined : { ...state, ...event.data };
    case 'api_key_expiry_changed.v1':
      return state === undefined ? undefined : { ...state, ...expiryOf(event.data) };
    case 'api_key_deleted.v1':
      return undefined;
  }
}

export const create = (key: NewApiKey): readonly ApiKeyEvent[] => [{ type: 'api_key_created.v1', data: key }];

export const update = (state: ApiKey | undefined, by: Caller, changes: ApiKeyUpdate): readonly ApiKeyEvent[] =>
  updatedEvents('api_key_updated.v1', changes, requireVisible(by, state));

/** Null removes the expiry. `at` is the time of the event. */
export const setExpiry = (
  state: ApiKey | undefined,
  by: Caller,
  wanted: Date | null,
  at: Date,
): readonly ApiKeyEvent[] => expiryEvents('api_key_expiry_changed.v1', { wanted, at }, requireVisible(by, state));

export const REMOVAL: ApiKeyEvent = { type: 'api_key_deleted.v1', data: {} };

export function remove(state: ApiKey | undefined, by: Caller): readonly ApiKeyEvent[] {
  requireVisible(by, state);
  return [REMOVAL];
}

/** Members see their own keys; admins see all keys. 404, not 403: the existence of a key is itself a secret. */
function requireVisible(caller: Caller, state: ApiKey | undefined): ApiKey {
  if (state === undefined || !isOwnerOrAdmin(caller, state)) throw apiKeyNotFound();
  return state;
}

export const apiKeyNotFound = (): Problem => new Problem('not_found', 'Resource not found');

/** Random bytes of a token: 192 bits, too many to guess. */
export const TOKEN_SECRET_BYTES = 24;

/** The token, which the caller sees once: the key's KSUID, which identifies the key of a leaked token, and the secret. */
export const tokenOf = (apiKeyId: string, secret: Buffer): string =>
  `${apiKeyId.replace(/^ak_/, '')}_${secret.toString('base64url')}`;

/** A fast hash is right here: the token is random, so a slow hash would protect nothing. */
export const hashToken = (token: string): string => hash('sha256', token);
