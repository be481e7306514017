import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AuditReads } from '../src/database/audit-reads.js';
import { queryNamed } from '../src/database/query.js';
import { askForDecisions, heldStatements, holdDecisions, untilHeld } from './support/held-reads.js';
import { newPublicKey } from './support/keys.js';
import { addAccount } from './support/principals.js';
import { type Service, startService } from './support/service.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ auditReadTimeoutMs: 20_000 });
});
afterAll(() => service.stop());

const AUDIT_READS = [
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
];

describe('an account whose audit reads all wait', () => {
  it('is answered 429 with Retry-After beyond 102 reads, on every route that can cost much, and no other account is', async () => {
    const [flooding, neighbour] = [await addAccount(service), await addAccount(service)];
    const { body } = await flooding.client.post('/ssh_credentials', { public_key: newPublicKey() });
    const held = await holdDecisions(service);
    const waiting = Array.from({ length: 103 }, () => askForDecisions(service, flooding));
    const { statusCode } = await Promise.any(waiting.map(({ answered }) => answered));
    expect([statusCode, (await heldStatements(service)).length]).toEqual([429, 2]);
    // A refusal waits for a second, so all of them wait at once.
    const refusals = AUDIT_READS.map(async (path) => {
      const { status, headers, body: problem } = await flooding.client.get(path.replace('{id}', body.id));
      const refused = [path, 429, '1', 'ERR_NGROK_226'];
      expect([path, status, headers.get('retry-after'), problem.error_code]).toEqual(refused);
      expect(problem.msg).toMatch(/^The account already has 100 audit reads waiting/);
    });
    const streams = ['application/x-ndjson', 'text/event-stream'].map(async (accept) => {
      const headers = { authorization: `Bearer ${flooding.client.token}`, accept };
      expect((await fetch(`${service.app.url}/events`, { headers })).status).toBe(429);
    });
    await Promise.all([...refusals, ...streams]);
    expect((await neighbour.client.get('/events?limit=1')).status).toBe(200);
    for (const { leave } of waiting) leave();
    await untilHeld(service, 0);
    await held.release();
    for (const path of AUDIT_READS) {
      expect((await flooding.client.get(path.replace('{id}', body.id))).status).toBeLessThan(429);
    }
  });
});

describe('a client that goes away', () => {
  it('gives its place to the next request, and ends its statement on the server', async () => {
    const by = await addAccount(service);
    const held = await holdDecisions(service);
    const gone = Array.from({ length: 4 }, () => askForDecisions(service, by));
    await untilHeld(service, 2);
    const before = await heldStatements(service);
    const leftAt = performance.now();
    for (const { leave } of gone) leave();
    await untilHeld(service, 0);
    // Long before the pool closes an idle connection.
    expect(performance.now() - leftAt).toBeLessThan(5_000);
    const stayed = askForDecisions(service, by);
    await untilHeld(service, 1);
    expect(before).not.toContain((await heldStatements(service))[0]);
    await held.release();
    const { statusCode } = await stayed.answered;
    expect(statusCode).toBe(200);
  });
});

describe('an audit read that takes too long', () => {
  it('is answered 503 at the deadline, in the queue too, and leaves no statement on the server', async () => {
    const slow = await startService({ auditReadTimeoutMs: 1_000, auditReadConnections: 2 });
    const by = await addAccount(slow);
    const held = await holdDecisions(slow);
    const answers = await Promise.all(Array.from({ length: 3 }, () => by.client.get('/bind_decisions')));
    for (const { status, headers, body } of answers) {
      expect([status, headers.get('retry-after'), body.error_code]).toEqual([503, '1', 'ERR_TAS_503']);
      expect(body.msg).toBe('The request took longer than 1000 ms. Ask for less, or try again later.');
    }
    await untilHeld(slow, 0);
    await held.release();
    expect((await by.client.get('/bind_decisions')).status).toBe(200);
    await slow.stop();
  });
});

describe('an audit read of a database whose default isolation is repeatable read', () => {
  it('sees an event that was recorded after it began, since its position is looked up later too', async () => {
    const repeating = await startService();
    const name = new URL(repeating.databaseUrl).pathname.slice(1);
    await repeating.pool.query(`alter database ${name} set default_transaction_isolation = 'repeatable read'`);
    // These connections open when they are needed, so they have the new default.
    const reads = new AuditReads(repeating.app.database.auditReadPool, 20_000);
    const reader = { accountId: 'ac_1', signal: new AbortController().signal };
    const { rows } = await reads.run(reader, async (connections) => {
      const { body } = await repeating.admin.post('/ssh_credentials', { public_key: newPublicKey() });
      const events = { name: 'types_of_stream', text: 'select type from events where stream_id = $1' };
      return queryNamed(connections, events, [body.id]);
    });
    expect(rows).toEqual([{ type: 'ssh_credential_created.v1' }]);
    await repeating.stop();
  });
});

/** Reads that hold their connections until they are ended, by account, in the order in which they began. */
function heldReads(signal = new AbortController().signal) {
  const reads = new AuditReads(service.app.database.auditReadPool, 20_000);
  const began: { readonly accountId: string; readonly end: () => void }[] = [];
  const read = (accountId: string): Promise<void> =>
    reads.run({ accountId, signal }, () => new Promise((end) => began.push({ accountId, end })));
  return { reads, began, read };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5);
}

describe('while the reads of three accounts wait, 100 of each', () => {
  it('another account waits only for what they run at once, which is half of the connections each', async () => {
    const { began, read } = heldReads();
    const all = Array.from({ length: 100 }, () => ['a', 'b', 'c'].map(read)).flat();
    all.push(read('late'));
    for (let ended = 0; ended < all.length; ended += 1) {
      await until(() => began.length > ended);
      began[ended]?.end();
    }
    await Promise.all(all);
    const order = began.map(({ accountId }) => accountId);
    // Four run before it, and it has the next place. Those that have a connection begin in any order.
    expect(order.indexOf('late')).toBeLessThan(9);
  });
});

describe('while 1,000 reads of all accounts wait', () => {
  it('another one is refused with 503 after a second, and the next part of a stream waits', async () => {
    const leaving = new AbortController();
    const { reads, began, read } = heldReads(leaving.signal);
    const accounts = Array.from({ length: 1_004 }, (_, n) => `ac_${Math.floor(n / 100)}`);
    const all = Promise.allSettled(accounts.map(read));
    expect(reads.waiting).toBe(1_000);
    const from = performance.now();
    const reader = { accountId: 'ac_late', signal: new AbortController().signal };
    const part = reads.runAdmitted(reader, () => Promise.resolve('read on'));
    await expect(read('ac_late')).rejects.toMatchObject({ status: 503 });
    expect(performance.now() - from).toBeGreaterThan(990);
    expect([reads.waiting, began.length]).toEqual([1_001, 4]);
    leaving.abort();
    await expect(part).resolves.toBe('read on');
    await all;
    expect(reads.waiting).toBe(0);
  });
});
