import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { upload } from './support/decisions.js';
import { eventually } from './support/eventually.js';
import { newPublicKey } from './support/keys.js';
import { addAccount, addBot } from './support/principals.js';
import { type Service, startService } from './support/service.js';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

/** As someone who may switch triggers off. */
async function edit(statements: string): Promise<void> {
  const client = await service.pool.connect();
  await client.query(`begin; set local session_replication_role = replica; ${statements}; commit`);
  client.release();
}

it('a deletion that cannot be read is named by its position once, and the removals of other owners go on', async () => {
  const logged = jest.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
  const tenant = await addAccount(service);
  const ofOwner = async (): Promise<readonly [bot: string, credential: string]> => {
    const bot = await addBot(service, tenant.client);
    await tenant.client.delete(`/bot_users/${bot.id}`);
    return [bot.id, (await upload(service, tenant.client, { public_key: newPublicKey(), acl: [] })).id];
  };
  const [[damaged, kept], [whole, removed]] = [await ofOwner(), await ofOwner()];
  const { rows } = await service.pool.query('select max(position)::int as n from events where stream_id = $1', [
    damaged,
  ]);
  const pending = (owner: string, credential: string, age: number): string =>
    `update ssh_credentials set owner_id = '${owner}' where id = '${credential}';
     insert into pending_removals (account_id, owner_id, due_at) values ('${tenant.accountId}', '${owner}', now() - interval '${age} s')`;
  const damage = `update events set metadata = '[]' where stream_id = '${damaged}' and position = ${rows[0].n}`;
  await edit(`${damage}; ${pending(damaged, kept, 2)}; ${pending(whole, removed, 1)}`);
  const live = async () =>
    (await service.pool.query('select id from ssh_credentials where id in ($1, $2)', [kept, removed])).rows;
  await eventually(async () => expect(await live()).toEqual([{ id: kept }]), 10_000);
  await service.pool.query('update pending_removals set due_at = now()');
  await eventually(async () => expect(await due()).toBe(0), 10_000);
  expect(logged.mock.calls.map(([line]) => line)).toEqual([
    expect.stringMatching(
      new RegExp(`^what ${damaged} of .* cannot be removed: .* at position ${rows[0].n} cannot be read`),
    ),
  ]);
});

const due = async (): Promise<number> =>
  (await service.pool.query('select from pending_removals where due_at <= now()')).rowCount ?? 0;
