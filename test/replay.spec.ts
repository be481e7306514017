import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { accountsReadModel } from '../src/access/accounts/accounts.read-model.js';
import { principalsReadModel } from '../src/access/accounts/principals.read-model.js';
import { apiKeysReadModel } from '../src/access/api-keys/api-keys.read-model.js';
import { sshCredentialsReadModel } from '../src/ssh-credentials/ssh-credentials.read-model.js';
import type { ApiClient } from './support/api-client.js';
import { newPublicKey } from './support/keys.js';
import { expectRowsToBeTheFoldOfTheLog } from './support/replay.js';
import { type Service, startService } from './support/service.js';

let service: Service;
let admin: ApiClient;
beforeAll(async () => {
  service = await startService();
  admin = service.admin;
});
afterAll(() => service.stop());

const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(Math.random() * list.length)];

/** Sends a random call. The service refuses many of these calls, which must not change any row. */
async function act(path: string, ids: string[], create: () => object, change: () => object): Promise<void> {
  const dice = Math.random();
  if (dice < 0.4) {
    const { status, body } = await admin.post(path, create());
    if (status === 201) ids.push(body.id);
  } else if (dice < 0.8) await admin.patch(`${path}/${pick(ids)}`, change());
  else await admin.delete(`${path}/${pick(ids)}`);
}

const text = (): string => `${Math.random()} ünï\n"\\`;

describe('after a random history over credentials, users, bots and keys', () => {
  it('the live rows are the fold of the log, bit for bit', async () => {
    const owners: string[] = [];
    const resources: [string, string[], () => object, () => object][] = [
      [
        '/ssh_credentials',
        [],
        () => ({ public_key: newPublicKey(), description: text(), acl: ['*'], owner_id: pick(owners) ?? null }),
        () => ({ description: text(), acl: pick([[], ['bind:*.a.example'], ['bind:k=v', '*']]) ?? [] }),
      ],
      ['/bot_users', owners, () => ({ name: text() }), () => ({ active: Math.random() < 0.5 })],
      [
        '/users',
        [],
        () => ({ email: `u${Math.random()}@example.test`, role: pick(['admin', 'member']) }),
        () => ({ role: pick(['admin', 'member']), active: Math.random() < 0.8 }),
      ],
      ['/api_keys', [], () => ({ owner_id: pick(owners) ?? null }), () => ({ metadata: text() })],
    ];
    for (let round = 0; round < 30; round += 1) {
      await Promise.all(resources.flatMap((one) => [act(...one), act(...one), act(...one)]));
    }
    const { rows } = await service.pool.query('select count(distinct type)::int as n from events');
    expect(rows[0].n).toBeGreaterThan(11);
    await expectRowsToBeTheFoldOfTheLog(service.pool, accountsReadModel);
    await expectRowsToBeTheFoldOfTheLog(service.pool, principalsReadModel);
    await expectRowsToBeTheFoldOfTheLog(service.pool, apiKeysReadModel);
    await expectRowsToBeTheFoldOfTheLog(service.pool, sshCredentialsReadModel);
  });
});
