import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { given } from '../../../../test/support/given.js';
import type { Caller } from '../../../kernel/caller.js';
import { type ApiKey, create, evolve, hashToken, remove, TOKEN_SECRET_BYTES, tokenOf, update } from './api-key.js';

const caller = (principalId: string, role: Caller['role'] = 'member'): Caller => ({
  accountId: 'ac_1',
  principalId,
  kind: 'user',
  role,
  apiKeyId: 'ak_1',
});
const key: ApiKey = { owner_id: 'usr_1', description: 'd', metadata: 'm', token_hash: 'h' };
const created = given(evolve, ...create(key));

describe('an API key', () => {
  it('is recorded with every field and the hash of its token', () => {
    expect(create(key)).toEqual([
      { type: 'api_key_created.v1', data: { owner_id: 'usr_1', description: 'd', metadata: 'm', token_hash: 'h' } },
    ]);
    expect(created.state).toEqual(key);
  });

  it('records only the changed fields of an update', () => {
    const by = caller('usr_1');
    expect(created.when((state) => update(state, by, { description: 'x', metadata: 'm' }))).toEqual([
      { type: 'api_key_updated.v1', data: { description: 'x' } },
    ]);
    expect(created.when((state) => update(state, by, { description: 'd' }))).toEqual([]);
  });

  it('can be changed by its owner and by admins, and does not exist for others', () => {
    const [owner, other, admin] = [caller('usr_1'), caller('usr_2'), caller('usr_9', 'admin')];
    for (const by of [owner, admin]) expect(created.when((state) => remove(state, by))).toHaveLength(1);
    expect(created.when((state) => remove(state, other))).toContain('Resource not found');
    expect(created.when((state) => update(state, other, { description: 'x' }))).toContain('Resource not found');
    expect(given(evolve).when((state) => remove(state, admin))).toContain('Resource not found');
  });
});

describe('a token', () => {
  it('is the KSUID of its key and 192 random bits, and is looked up by its SHA-256', () => {
    const secret = randomBytes(TOKEN_SECRET_BYTES);
    const token = tokenOf('ak_3MPflUxi65UVJUZK1y0iEJKUOhV', secret);
    expect(token).toBe(`3MPflUxi65UVJUZK1y0iEJKUOhV_${secret.toString('base64url')}`);
    expect(hashToken(token)).toBe(createHash('sha256').update(token).digest('hex'));
  });
});
