import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient } from './support/api-client.js';
import { ADMIN_KEY, type Service, startCopy, startService } from './support/service.js';

let service: Service;
let other: Awaited<ReturnType<typeof startCopy>>;
beforeAll(async () => {
  service = await startService();
  other = await startCopy(service);
});
afterAll(async () => {
  await other.stop();
  await service.stop();
});

describe('resources that two instances create in turn', () => {
  it('are listed in the order of their creation, newest first', async () => {
    const clients = [service.admin, new ApiClient(other.app.url, ADMIN_KEY)];
    const created: string[] = [];
    for (let n = 0; n < 60; n += 1) {
      const { body } = (await clients[n % 2]?.post('/bot_users', { name: `bot ${n}` })) ?? { body: undefined };
      created.push(body.id);
      // An id has the millisecond in which its instance decided.
      await sleep(3);
    }
    for (const client of clients) {
      const { body } = await client.get('/bot_users?limit=100');
      expect(body.bot_users.map(({ id }: { id: string }) => id)).toEqual(created.reverse());
      created.reverse();
    }
  });
});
