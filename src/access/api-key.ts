import { createHash } from 'node:crypto';

/** Storage format: these types are what the log holds. Add fields as optional; for any other change add a new version. */
export type ApiKeyEvent = {
  readonly type: 'api_key_created.v1';
  readonly data: {
    readonly owner_id: string;
    readonly description: string;
    readonly metadata: string;
    /** SHA-256 of the token, hex. The token itself is nowhere but in the answer that created it. */
    readonly token_hash: string;
  };
};

export interface ApiKey {
  readonly ownerId: string;
  readonly description: string;
  readonly metadata: string;
  readonly tokenHash: string;
}

export function evolve(_state: ApiKey | undefined, event: ApiKeyEvent): ApiKey {
  const { owner_id, description, metadata, token_hash } = event.data;
  return { ownerId: owner_id, description, metadata, tokenHash: token_hash };
}

export const create =
  (args: ApiKey) =>
  (state: ApiKey | undefined): readonly ApiKeyEvent[] => {
    if (state !== undefined) return [];
    const { ownerId, description, metadata, tokenHash } = args;
    return [{ type: 'api_key_created.v1', data: { owner_id: ownerId, description, metadata, token_hash: tokenHash } }];
  };

const SECRET_BYTES = 24;

/** How many random bytes `tokenOf` needs: 192 bits, beyond any guessing. */
export const TOKEN_SECRET_BYTES = SECRET_BYTES;

/** The token shown once to the caller: the key's KSUID, so that a leaked token can be traced to its key, and the secret. */
export const tokenOf = (apiKeyId: string, secret: Buffer): string =>
  `${apiKeyId.replace(/^ak_/, '')}_${secret.toString('base64url')}`;

/** A fast hash is right here: the token is random, so there is nothing to guess that a slow hash would protect. */
export const hashToken = (token: string): string => createHash('sha256').update(token, 'utf8').digest('hex');
