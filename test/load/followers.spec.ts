import { get } from 'node:http';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { ApiClient } from '../support/api-client.js';
import { EventStream } from '../support/event-stream.js';
import { newPublicKey } from '../support/keys.js';
import { appendLarge, liveFeed, tokenOf, upTo } from '../support/live-feed.js';
import { addAccount } from '../support/principals.js';
import { startMain, stopMain } from '../support/process.js';
import { type Service, startService } from '../support/service.js';

let service: Service;
let other: { url: string; stop: () => Promise<unknown> };
beforeAll(async () => {
  service = await startService();
  const main = startMain({ DATABASE_URL: service.databaseUrl });
  other = { url: await main.url, stop: () => stopMain(main) };
});
afterAll(async () => {
  await other.stop();
  await service.stop();
});

/** Follows over connections that are cut again and again. Each resumes after the id of the last message. */
async function followDespiteCuts(url: string, token: string, isDone: (last: number) => boolean): Promise<number[]> {
  const heard: number[] = [];
  let lastEventId = '';
  while (!isDone(heard.at(-1) ?? 0)) {
    const stream = await EventStream.open(
      `${url}/events`,
      token,
      lastEventId === '' ? {} : { 'last-event-id': lastEventId },
    );
    expect(stream.response.statusCode).toBe(200);
    const cutAt = Date.now() + 50 + Math.random() * 300;
    while (Date.now() < cutAt && !isDone(stream.messages.at(-1)?.id ?? 0)) await sleep(5);
    stream.close();
    heard.push(...stream.messages.map(({ id }) => id));
    // A connection that was cut before its first message has no id to resume from.
    if (stream.lastEventId !== '') lastEventId = stream.lastEventId;
    expect(stream.messages.map(({ data }) => data.logposition)).toEqual(stream.messages.map(({ id }) => id));
  }
  return heard;
}

/** Polls for the lines after the last one. */
async function poll(url: string, token: string, isDone: (last: number) => boolean): Promise<number[]> {
  const heard: number[] = [];
  while (!isDone(heard.at(-1) ?? 0)) {
    const headers = { accept: 'application/x-ndjson', authorization: `Bearer ${token}` };
    const response = await fetch(`${url}/events?after=${heard.at(-1) ?? 0}`, { headers });
    const lines = (await response.text()).split('\n').filter((line) => line !== '');
    heard.push(...lines.map((line) => JSON.parse(line).logposition));
  }
  return heard;
}

describe('32 writers on two instances, and three followers', () => {
  it('every follower gets 1..N in order, without gaps or duplicates, even beside an open transaction', async () => {
    const by = await addAccount(service);
    const bystander = new pg.Client(service.databaseUrl);
    await bystander.connect();
    // A follower that trusted transaction ids or snapshots would wait for this transaction.
    await bystander.query('begin isolation level serializable');
    await bystander.query('create table unrelated as select txid_current() as id');
    let last = Number.POSITIVE_INFINITY;
    const isDone = (position: number): boolean => position >= last;
    const followers = [
      followDespiteCuts(service.app.url, tokenOf(by), isDone),
      followDespiteCuts(other.url, tokenOf(by), isDone),
      poll(other.url, tokenOf(by), isDone),
    ];
    const writers = Array.from({ length: 32 }, async (_, n) => {
      const client = n % 2 === 0 ? by.client : new ApiClient(other.url, tokenOf(by));
      for (let i = 0; i < 20; i += 1) {
        const { status, body } = await client.post('/ssh_credentials', { public_key: newPublicKey() });
        expect(status).toBe(201);
        if (i % 4 === 0) await client.delete(`/ssh_credentials/${body.id}`);
      }
    });
    await Promise.all(writers);
    const { headers } = await by.client.post('/bot_users', { name: 'the last' });
    last = Number(headers.get('log-position'));
    for (const heard of await Promise.all(followers)) expect(heard).toEqual(upTo(last));
    expect(last).toBeGreaterThan(32 * 25);
    await bystander.query('rollback');
    await bystander.end();
  });
});

describe('a live feed', () => {
  it('waits for a stalled reader, which then misses no event', async () => {
    const by = await addAccount(service);
    const stream = await EventStream.open(`${service.app.url}/events`, tokenOf(by));
    stream.response.pause();
    const head = await appendLarge(by, 100);
    stream.response.resume();
    await stream.until(head);
    expect(stream.messages.map(({ id }) => id)).toEqual(upTo(head));
  });

  it('buffers one page for a stalled reader, for any number of events', async () => {
    const by = await addAccount(service);
    const head = await appendLarge(by, 50);
    const live = liveFeed(service);
    const selection = { accountId: by.accountId, filter: {}, span: { after: 0, upTo: head } };
    const stream = await live.follow(selection, () => Promise.resolve(true), new AbortController().signal);
    const reader = stream.pipe(new PassThrough());
    const held = (): number => stream.readableLength + reader.readableLength + reader.writableLength;
    // Wait for the first event: the beginning of the stream is shorter.
    while (held() < 200_000) await sleep(10);
    await sleep(300);
    expect(held()).toBeLessThan(5 * 1024 * 1024);
    let text = '';
    for await (const chunk of reader.setEncoding('utf8')) {
      text += chunk;
      if (text.includes(`id: ${head}\n`)) break;
    }
    // A heartbeat has an id too.
    expect([...text.matchAll(/^id: (\d+)\ndata/gm)].map(([, id]) => Number(id))).toEqual(upTo(head));
    live.onModuleDestroy();
  });

  it('ends when the service stops, without delaying the shutdown', async () => {
    const by = await addAccount(service);
    // More than the buffers of two sockets, so that a reader stalls in the middle.
    await appendLarge(by, 60);
    const main = startMain({ DATABASE_URL: service.databaseUrl, SHUTDOWN_GRACE_MS: '20000' });
    const url = await main.url;
    const stalled = await EventStream.open(`${url}/events`, tokenOf(by));
    stalled.response.pause();
    const streams = await Promise.all([1, 2].map(() => EventStream.open(`${url}/events`, tokenOf(by))));
    for (const stream of streams) await stream.until(60);
    const { code, output } = await stopMain(main);
    expect(output).not.toContain('still running');
    expect(code).toBe(0);
    for (const stream of streams) expect(await stream.ended).toBe('ended');
  });

  it('takes no place of its account if its client went away while its key was looked up', async () => {
    const by = await addAccount(service);
    const url = `${service.app.url}/events`;
    const headers = { accept: 'text/event-stream', authorization: `Bearer ${tokenOf(by)}` };
    const client = new pg.Client(service.databaseUrl);
    await client.connect();
    await client.query('begin; lock table api_keys in access exclusive mode');
    const leaving = Array.from({ length: 100 }, () => get(url, { headers, agent: false }).on('error', () => undefined));
    await sleep(300);
    for (const request of leaving) request.destroy();
    await sleep(100);
    await client.end();
    await sleep(500);
    const stream = await EventStream.open(url, tokenOf(by));
    expect(stream.response.statusCode).toBe(200);
    stream.close();
  });
});
