import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import type { Ref } from '../../../database/index.js';
import { OperatorError, UsageError } from '../../../kernel/operator-error.js';
import type { Changes } from '../../resources/changes.js';
import { type ApiKeyEvent, create, hashToken, TOKEN_SECRET_BYTES, tokenOf } from './api-key.js';
import { API_KEYS } from './api-keys.resource.js';

interface OperatorKey {
  /** Absent: the oldest active admin. */
  readonly owner?: string;
  readonly description: string;
  /** Absent: the key never expires. */
  readonly endsInMs?: number;
}

/** Makes an API key for whoever runs the service, who needs no key for it. */
export async function createOperatorKey(
  pool: Pool,
  changes: Changes,
  { owner, description, endsInMs }: OperatorKey,
): Promise<{ token: string; ownerId: string }> {
  const { accountId, id: ownerId } = await findOwner(pool, owner);
  const secret = randomBytes(TOKEN_SECRET_BYTES);
  const decide = (id: string, _context: object, at: Date): readonly ApiKeyEvent[] => [
    ...create({ description, metadata: '', owner_id: ownerId, token_hash: hashToken(tokenOf(id, secret)) }),
    ...(endsInMs === undefined
      ? []
      : [
          {
            type: 'api_key_expiry_changed.v1' as const,
            data: { expires_at: new Date(at.getTime() + endsInMs).toISOString() },
          },
        ]),
  ];
  const { entity } = await changes.create(API_KEYS, { accountId, metadata: { actor: 'operator' } }, decide);
  return { token: tokenOf(entity?.id ?? '', secret), ownerId };
}

async function findOwner(pool: Pool, id: string | undefined): Promise<Ref> {
  const { rows } = await pool.query<Ref>(
    `select account_id as "accountId", id from principals
     where active and (id = $1 or ($1::text is null and role = 'admin')) order by created_at, id limit 1`,
    [id ?? null],
  );
  const [owner] = rows;
  if (owner !== undefined) return owner;
  if (id !== undefined) throw new UsageError(`there is no active user or bot '${id}'`);
  throw new OperatorError('there is no active admin; start the service once, and it creates the first account');
}
