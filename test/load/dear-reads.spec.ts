import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { Answer } from '../support/api-client.js';
import { newPublicKey } from '../support/keys.js';
import { stopAtEnd } from '../support/leftovers.js';
import { addAccount, type TestPrincipal } from '../support/principals.js';
import { GATEWAY, type Service, startService } from '../support/service.js';

let service: Service;
let [flooding, neighbour]: TestPrincipal[] = [];
const accounts = (): { flooding: TestPrincipal; neighbour: TestPrincipal } => {
  if (flooding === undefined || neighbour === undefined) throw new Error('the accounts are not there yet');
  return { flooding, neighbour };
};
beforeAll(async () => {
  service = await startService({ ...GATEWAY, dearReadTimeoutMs: 20_000 });
  [flooding, neighbour] = [await addAccount(service), await addAccount(service)];
});
afterAll(() => service.stop());

/** Makes every list of decisions wait in the database, as one that reads very much would. */
async function holdDecisions(on = service): Promise<{ release: () => Promise<void> }> {
  const client = new pg.Client(on.databaseUrl);
  await client.connect();
  await client.query('begin; lock table bind_decisions in access exclusive mode');
  const release = stopAtEnd(() => client.end());
  locks.push(release);
  return { release };
}
const locks: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const release of locks.splice(0)) await release();
});

/** Statements that wait for that lock. */
async function heldStatements(on = service): Promise<number> {
  const { rows } = await on.pool.query(
    `select count(*)::int as count from pg_stat_activity
     where datname = current_database() and query like '%from bind_decisions d%' and state = 'active'
       and pid <> pg_backend_pid()`,
  );
  return rows[0].count;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let n = 0; n < 400; n += 1) {
    if (await condition()) return;
    await sleep(25);
  }
  throw new Error('it did not become so within ten seconds');
}

/** A client that can go away. */
function ask(by: TestPrincipal, path: string, headers: Record<string, string> = {}) {
  const all = { authorization: `Bearer ${by.client.token}`, ...headers };
  const request = get(service.app.url + path, { headers: all, agent: false }).on('error', () => undefined);
  const answered = once(request, 'response').then(([response]) => response as IncomingMessage);
  answered.catch(() => undefined);
  return { answered, leave: () => request.destroy() };
}

describe('an account whose dear reads all wait', () => {
  it('delays no read, no write, no gateway and no dear read of another account', async () => {
    const { flooding, neighbour } = accounts();
    const key = newPublicKey();
    const { body } = await neighbour.client.post('/ssh_credentials', { public_key: key });
    const own = `/ssh_credentials/${body.id}`;
    const held = await holdDecisions();
    const waiting = Array.from({ length: 60 }, () => flooding.client.get('/bind_decisions'));
    await until(async () => (await heldStatements()) === 2);
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
    expect(await heldStatements()).toBe(2);
    await held.release();
    expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).toEqual(new Set([200]));
  });

  it.each([
    '/bind_decisions',
    '/events',
    '/events?type=ssh_credential_created.v1',
    '/ssh_credentials?as_of=1',
    '/ssh_credentials/{id}?as_of=1',
    '/ssh_credentials/{id}/events',
    '/edges/tcp?as_of=1',
    '/users?as_of=1',
    '/bot_users?as_of=1',
    '/api_keys?as_of=1',
  ])('is answered 429 with Retry-After beyond 102 reads: GET %s', async (path) => {
    const { flooding, neighbour } = accounts();
    const { body } = await flooding.client.post('/ssh_credentials', { public_key: newPublicKey() });
    const held = await holdDecisions();
    const waiting = Array.from({ length: 103 }, () => ask(flooding, '/bind_decisions'));
    const { statusCode } = await Promise.any(waiting.map(({ answered }) => answered));
    expect([statusCode, await heldStatements()]).toEqual([429, 2]);
    const read = (): Promise<Answer> => flooding.client.get(path.replace('{id}', body.id));
    const answer = await read();
    expect([answer.status, answer.headers.get('retry-after'), answer.body.error_code]).toEqual([
      429,
      '1',
      'ERR_NGROK_226',
    ]);
    expect(answer.body.msg).toMatch(/^The account already has 100 requests of this kind waiting/);
    for (const accept of ['application/x-ndjson', 'text/event-stream']) {
      const headers = { authorization: `Bearer ${flooding.client.token}`, accept };
      expect((await fetch(`${service.app.url}/events`, { headers })).status).toBe(429);
    }
    expect((await neighbour.client.get('/events?limit=1')).status).toBe(200);
    for (const { leave } of waiting) leave();
    await until(async () => (await heldStatements()) === 0);
    await held.release();
    expect((await read()).status).toBeLessThan(429);
  });
});

describe('a client that goes away', () => {
  it('gives its place to the next request, and ends its statement on the server', async () => {
    const { flooding } = accounts();
    const held = await holdDecisions();
    const gone = Array.from({ length: 4 }, () => ask(flooding, '/bind_decisions'));
    await until(async () => (await heldStatements()) === 2);
    const pids = async () =>
      (
        await service.pool.query(`select pid from pg_stat_activity where query like '%from bind_decisions d%'
        and state = 'active' and datname = current_database() and pid <> pg_backend_pid()`)
      ).rows.map(({ pid }) => pid);
    const before = await pids();
    for (const { leave } of gone) leave();
    await until(async () => (await pids()).length === 0);
    const stayed = ask(flooding, '/bind_decisions');
    await until(async () => (await heldStatements()) === 1);
    expect(before).not.toContain((await pids())[0]);
    await held.release();
    const { statusCode } = await stayed.answered;
    expect(statusCode).toBe(200);
  });
});

describe('a dear read that takes too long', () => {
  it('is answered 503 at the deadline, in the queue too, and leaves no statement on the server', async () => {
    const slow = await startService({ dearReadTimeoutMs: 1_000, dearReadConnections: 2 });
    const by = await addAccount(slow);
    const held = await holdDecisions(slow);
    const answers = await Promise.all(Array.from({ length: 3 }, () => by.client.get('/bind_decisions')));
    for (const { status, headers, body } of answers) {
      expect([status, headers.get('retry-after'), body.error_code]).toEqual([503, '1', 'ERR_TAS_503']);
      expect(body.msg).toBe('The request took longer than 1000 ms. Ask for less, or try again later.');
    }
    await until(async () => (await heldStatements(slow)) === 0);
    await held.release();
    expect((await by.client.get('/bind_decisions')).status).toBe(200);
    await slow.stop();
  });
});
