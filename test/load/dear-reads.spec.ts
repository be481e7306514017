import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { heldStatements, holdDecisions, untilHeld } from '../support/held-reads.js';
import { newPublicKey } from '../support/keys.js';
import { addAccount } from '../support/principals.js';
import { GATEWAY, type Service, startService } from '../support/service.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ ...GATEWAY, dearReadTimeoutMs: 20_000 });
});
afterAll(() => service.stop());

describe('an account whose dear reads all wait', () => {
  it('delays no read, no write, no gateway and no dear read of another account', async () => {
    const [flooding, neighbour] = [await addAccount(service), await addAccount(service)];
    const key = newPublicKey();
    const { body } = await neighbour.client.post('/ssh_credentials', { public_key: key });
    const own = `/ssh_credentials/${body.id}`;
    const held = await holdDecisions(service);
    const waiting = Array.from({ length: 60 }, () => flooding.client.get('/bind_decisions'));
    await untilHeld(service, 2);
    const answers = await Promise.all([
      neighbour.client.get(own),
      neighbour.client.patch(own, { description: 'changed' }),
      neighbour.client.post('/ssh_credentials', { public_key: newPublicKey() }),
      service.gateway.post('/ssh_gateway/authorize', { public_key: key, target: { domain: 'a.example' } }),
      neighbour.client.get('/events?limit=1'),
      neighbour.client.get(`${own}/events`),
      neighbour.client.get(`${own}?as_of=1`).then(({ status }) => ({ status: status === 404 ? 200 : status })),
      neighbour.client.get('/ssh_credentials?as_of=1'),
      flooding.client.get('/ssh_credentials'),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 201, 200, 200, 200, 200, 200, 200]);
    expect(await heldStatements(service)).toHaveLength(2);
    await held.release();
    expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).toEqual(new Set([200]));
  });
});
