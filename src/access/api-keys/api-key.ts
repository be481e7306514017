import { createHash } from 'node:crypto';
import { type Caller, isAdmin } from '../../caller.js';
import { Problem } from '../../problem.js';

/** Storage format: these types are what the log holds. Add fields as optional; for any other change add a new version. */
export type ApiKeyEvent =
  | {
      readonly type: 'api_key_created.v1';
      readonly data: {
        readonly owner_id: string;
        readonly description: string;
        readonly metadata: string;
        /** SHA-256 of the token, hex. The token itself is nowhere but in the answer that created it. */
        readonly token_hash: string;
      };
    }
  | {
      readonly type: 'api_key_updated.v1';
      /** Only what changed. */
      readonly data: { readonly description?: string; readonly metadata?: string };
    }
  | { readonly type: 'api_key_deleted.v1'; readonly data: Readonly<Record<string, never>> };

export interface ApiKey {
  readonly ownerId: string;
  readonly description: string;
  readonly metadata: string;
  readonly tokenHash: string;
}

export function evolve(state: ApiKey | undefined, event: ApiKeyEvent): ApiKey | undefined {
  switch (event.type) {
    case 'api_key_created.v1': {
      const { owner_id, token_hash, ...same } = event.data;
      return { ...same, ownerId: owner_id, tokenHash: token_hash };
    }
    case 'api_key_updated.v1':
      return state === undefined ? undefined : { ...state, ...event.data };
    case 'api_key_deleted.v1':
      return undefined;
  }
}

type Decision = (state: ApiKey | undefined) => readonly ApiKeyEvent[];

export const create =
  (args: ApiKey): Decision =>
  (state) => {
    if (state !== undefined) return [];
    const { ownerId, tokenHash, ...same } = args;
    return [{ type: 'api_key_created.v1', data: { ...same, owner_id: ownerId, token_hash: tokenHash } }];
  };

export const update =
  (args: { readonly by: Caller; readonly description?: string; readonly metadata?: string }): Decision =>
  (state) => {
    const { description, metadata } = visibleTo(args.by, state);
    const data = {
      ...(args.description !== undefined && args.description !== description && { description: args.description }),
      ...(args.metadata !== undefined && args.metadata !== metadata && { metadata: args.metadata }),
    };
    return Object.keys(data).length === 0 ? [] : [{ type: 'api_key_updated.v1', data }];
  };

export const REMOVAL: ApiKeyEvent = { type: 'api_key_deleted.v1', data: {} };

export const remove =
  (args: { readonly by: Caller }): Decision =>
  (state) => {
    visibleTo(args.by, state);
    return [REMOVAL];
  };

/** Members see their own keys, admins all. That somebody has a key is no member's business, so: 404, not 403. */
export const isVisibleTo = (caller: Caller, { ownerId }: ApiKey): boolean =>
  isAdmin(caller) || ownerId === caller.principalId;

export function visibleTo(caller: Caller, state: ApiKey | undefined): ApiKey {
  if (state === undefined || !isVisibleTo(caller, state)) throw notFound();
  return state;
}

export const notFound = (): Problem => new Problem('not_found', 'Resource not found');

/** How many random bytes `tokenOf` needs: 192 bits, beyond any guessing. */
export const TOKEN_SECRET_BYTES = 24;

/** The token shown once to the caller: the key's KSUID, so that a leaked token can be traced to its key, and the secret. */
export const tokenOf = (apiKeyId: string, secret: Buffer): string =>
  `${apiKeyId.replace(/^ak_/, '')}_${secret.toString('base64url')}`;

/** A fast hash is right here: the token is random, so there is nothing to guess that a slow hash would protect. */
export const hashToken = (token: string): string => createHash('sha256').update(token, 'utf8').digest('hex');
