import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Fastify from 'fastify';
import { CloudEvents } from '../../src/api/audit/cloud-events.js';
import { EventFeed } from '../../src/api/audit/event-feed.js';
import { LineFeed } from '../../src/api/audit/line-feed.js';
import { READ_MODELS } from '../../src/api/read-models.js';
import { AuditReads } from '../../src/database/audit-reads.js';
import { LogPositions } from '../../src/event-log/read/log-positions.js';
import { stopAtEnd } from '../support/leftovers.js';
import { addAccount, type TestPrincipal } from '../support/principals.js';
import { type Service, startService } from '../support/service.js';

let service: Service;
let by: TestPrincipal;
let head = 0;
beforeAll(async () => {
  service = await startService();
  by = await addAccount(service);
  // More than the buffers of a connection hold.
  for (let n = 0; n < 100; n += 1) {
    const answer = await by.client.post('/edges/tcp', { traffic_policy: { value: 'x'.repeat(256 * 1024) } });
    head = Number(answer.headers.get('log-position'));
  }
});
afterAll(() => service.stop());

/** Opens an answer in lines, and reads nothing of it yet. */
async function open(url: string): Promise<IncomingMessage> {
  const headers = { accept: 'application/x-ndjson', authorization: `Bearer ${by.client.token}` };
  const [response] = await once(get(url, { headers, agent: false }), 'response');
  stopAtEnd(async () => void response.destroy());
  return (response as IncomingMessage).on('error', () => undefined);
}

const busyConnections = (): number => {
  const { totalCount, idleCount } = service.app.database.auditReadPool;
  return totalCount - idleCount;
};

describe('readers of lines', () => {
  it('beyond 20 of an account are answered 429, until one ends', async () => {
    const readers = await Promise.all(Array.from({ length: 20 }, () => open(`${service.app.url}/events`)));
    expect(new Set(readers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
    const refused = await open(`${service.app.url}/events`);
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '1']);
    refused.setEncoding('utf8');
    const [text] = await once(refused, 'data');
    expect(JSON.parse(text)).toMatchObject({ error_code: 'ERR_NGROK_226', status_code: 429 });
    // Readers that stall hold no connection, and leave the account's other reads alone.
    for (let n = 0; n < 200 && busyConnections() > 0; n += 1) await sleep(50);
    expect(busyConnections()).toBe(0);
    expect((await by.client.get('/events?limit=1')).status).toBe(200);
    for (const reader of readers) reader.destroy();
    await expect(
      (async () => {
        for (let n = 0; n < 100; n += 1) {
          const next = await open(`${service.app.url}/events?limit=1`);
          next.resume();
          if (next.statusCode === 200) return 'open again';
          await sleep(20);
        }
        return 'still full';
      })(),
    ).resolves.toBe('open again');
  });

  it('that take nothing are cut off, and those that read on, slowly, are not', async () => {
    const positions = new LogPositions(service.pool);
    const auditReads = new AuditReads(service.app.database.auditReadPool, 10_000);
    const events = new EventFeed(positions, auditReads, new CloudEvents(READ_MODELS));
    const feed = new LineFeed(events, 500);
    const selection = { accountId: by.accountId, filter: {}, span: { after: 0, upTo: head } };
    const server = Fastify();
    server.get('/events', async (_, reply) => {
      return reply.send(
        await feed.open(
          { accountId: by.accountId, signal: new AbortController().signal },
          async () => selection,
          undefined,
        ),
      );
    });
    const url = `${await server.listen()}/events`;
    const stop = stopAtEnd(() => server.close());
    const [stalled, slow] = [await open(url), await open(url)];
    let [bytes, lines] = [0, 0];
    for await (const chunk of slow) {
      bytes += chunk.length;
      lines += chunk.toString('latin1').split('\n').length - 1;
      if (bytes > 2 * 1024 * 1024) [bytes] = [0, await sleep(100)];
    }
    expect(lines).toBe(head);
    // What arrived before the cut is all that is left to read, and then the connection ends early.
    let received = 0;
    await expect(
      (async () => {
        for await (const chunk of stalled) received += chunk.length;
      })(),
    ).rejects.toThrow('aborted');
    expect(received).toBeLessThan(head * 256 * 1024);
    await stop();
  });
});
