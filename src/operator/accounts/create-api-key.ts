import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { create, hashToken, TOKEN_SECRET_BYTES, tokenOf } from '../../api/access/api-keys/api-key.js';
import { API_KEYS } from '../../api/access/api-keys/api-keys.resource.js';
import { makeChanges } from '../../api/resources/make-changes.js';
import type { Ref } from '../../database/index.js';
import { EventLog } from '../../event-log/index.js';
import { IdSource } from '../../kernel/ids.js';
import { OperatorError, UsageError } from '../../kernel/operator-error.js';

export async function createApiKey(
  pool: Pool,
  { owner, description }: { owner?: string; description: string },
): Promise<{ token: string; ownerId: string }> {
  const { accountId, id: ownerId } = await findOwner(pool, owner);
  const secret = randomBytes(TOKEN_SECRET_BYTES);
  const changes = makeChanges(pool, new EventLog(pool, console.error), new IdSource());
  const decide = (id: string) =>
    create({ description, metadata: '', owner_id: ownerId, token_hash: hashToken(tokenOf(id, secret)) });
  const { entity } = await changes.create(API_KEYS, { accountId, metadata: { actor: 'operator' } }, decide);
  const token = tokenOf(entity?.id ?? '', secret);
  return { token, ownerId };
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
