import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient } from './support/api-client.js';
import { EventStream } from './support/event-stream.js';
import { expireNow } from './support/expire.js';
import { newPublicKey } from './support/keys.js';
import { liveFeed, tokenOf } from './support/live-feed.js';
import { addAccount, addUser, type TestPrincipal } from './support/principals.js';
import { type Service, startCopy, startService } from './support/service.js';

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

describe('a live feed', () => {
  it('has the events of this instance and of another one, filtered as requested', async () => {
    const by = await addAccount(service);
    const elsewhere = new ApiClient(other.app.url, tokenOf(by));
    const stream = await EventStream.open(`${service.app.url}/events?type=bot_user_created.v1`, tokenOf(by));
    expect(stream.response.headers['content-type']).toBe('text/event-stream');
    for (const client of [by.client, elsewhere, by.client]) {
      await client.post('/ssh_credentials', { public_key: newPublicKey() });
      await client.post('/bot_users', { name: `bot ${Math.random()}` });
    }
    await stream.until(3);
    expect(stream.messages.map(({ data }) => data.type)).toEqual(Array(3).fill('bot_user_created.v1'));
  });

  it('begins after `after`, and resumes after Last-Event-ID', async () => {
    const by = await addAccount(service);
    for (let n = 0; n < 5; n += 1) await by.client.post('/bot_users', { name: `bot ${n}` });
    const head = Number((await by.client.post('/bot_users', { name: 'last' })).headers.get('log-position'));
    const url = `${service.app.url}/events?after=${head - 3}`;
    const stream = await EventStream.open(url, tokenOf(by));
    await stream.until(3);
    expect(stream.messages.map(({ id }) => id)).toEqual([head - 2, head - 1, head]);
    const resumed = await EventStream.open(url, tokenOf(by), { 'last-event-id': String(head - 1) });
    await resumed.until(1);
    expect(resumed.messages.map(({ id }) => id)).toEqual([head]);
  });

  it('has no events of another account', async () => {
    const [by, foreigner] = [await addAccount(service), await addAccount(service)];
    const stream = await EventStream.open(`${service.app.url}/events`, tokenOf(by));
    await foreigner.client.post('/bot_users', { name: 'theirs' });
    await by.client.post('/bot_users', { name: 'ours' });
    await sleep(200);
    const sources = new Set(stream.messages.map(({ data }) => data.source));
    expect([...sources]).toEqual([`/accounts/${by.accountId}`]);
    expect(stream.messages.at(-1)?.data.data).toMatchObject({ name: 'ours' });
  });

  it.each([
    ['its key is revoked', (by: TestPrincipal) => service.admin.delete(`/api_keys/${by.keyId}`)],
    ['its key has expired', (by: TestPrincipal) => expireNow(service.admin, `/api_keys/${by.keyId}`)],
    [
      'its owner is no longer an admin',
      (by: TestPrincipal) => service.admin.patch(`/users/${by.id}`, { role: 'member' }),
    ],
    ['its owner is deactivated', (by: TestPrincipal) => service.admin.patch(`/users/${by.id}`, { active: false })],
  ])('ends when %s, also for a stalled reader', async (_, act) => {
    const by = await addUser(service, 'admin');
    const stream = await EventStream.open(`${service.app.url}/events`, tokenOf(by));
    const stalled = await EventStream.open(`${service.app.url}/events`, tokenOf(by));
    stalled.response.pause();
    await stream.until(1);
    expect((await act(by)).status).toBeLessThan(300);
    expect(await stream.ended).toBe('ended');
    stalled.response.resume();
    expect(['ended', 'cut']).toContain(await stalled.ended);
  });

  it('is refused above the maximum of the account, until another one ends', async () => {
    const by = await addAccount(service);
    const url = `${service.app.url}/events`;
    const streams = await Promise.all(Array.from({ length: 100 }, () => EventStream.open(url, tokenOf(by))));
    expect(streams.map(({ response }) => response.statusCode)).toEqual(Array(100).fill(200));
    const headers = { accept: 'text/event-stream', authorization: `Bearer ${tokenOf(by)}` };
    expect((await fetch(url, { headers })).status).toBe(429);
    streams.pop()?.close();
    let next = await EventStream.open(url, tokenOf(by));
    while (next.response.statusCode === 429) next = await EventStream.open(url, tokenOf(by));
    expect(next.response.statusCode).toBe(200);
    for (const stream of streams) stream.close();
  });

  it('sends a heartbeat with its position while there are no events', async () => {
    const by = await addAccount(service);
    const live = liveFeed(service);
    const { headers } = await by.client.post('/bot_users', { name: 'the last' });
    const head = Number(headers.get('log-position'));
    const selection = { accountId: by.accountId, filter: {}, span: { after: head, upTo: head } };
    const chunks: string[] = [];
    const stream = await live.follow(selection, () => Promise.resolve(true), new AbortController().signal);
    stream.setEncoding('utf8').on('data', (chunk: string) => chunks.push(chunk));
    while (chunks.length < 3) await sleep(10);
    expect(chunks.slice(0, 3)).toEqual(['retry: 1000\n\n', ...Array(2).fill(`: nothing new\nid: ${head}\n\n`)]);
    live.onModuleDestroy();
  });
});
