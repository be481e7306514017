import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { StreamAppend } from '../src/event-log/append/append.js';
import { startSwallowingProxy } from './support/answer-swallowing-proxy.js';
import { takeLines } from './support/error-lines.js';
import { newPublicKey } from './support/keys.js';
import { appendOf, newEvent, openLog } from './support/log.js';
import { addManyCredentials } from './support/many-credentials.js';
import { addAccount, addBot, addUser, type TestPrincipal } from './support/principals.js';
import { type Service, startService } from './support/service.js';

/** The ids by which events are joined with each other, with lines of the log, and with traces of other programs. */
let service: Service;
let admin: TestPrincipal;

beforeAll(async () => {
  service = await startService();
  admin = await addAccount(service);
});
afterAll(() => service.stop());

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const TRACED = {
  traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01`,
  tracestate: 'vendor=in-the-state',
  baggage: 'user=in-the-baggage',
};
const operationOf = ({ headers }: { headers: Headers }): string | null => headers.get('ngrok-operation-id');
const positionOf = ({ headers }: { headers: Headers }): number => Number(headers.get('log-position'));

const newCredential = (headers: Record<string, string> = {}) =>
  admin.client.post('/ssh_credentials', { public_key: newPublicKey() }, headers);

const eventsAfter = async (position: number, client = admin.client) =>
  (await client.get(`/events?after=${position}&limit=1000`)).body.events;

const metadataAt = async (position: number) => {
  const { rows } = await service.pool.query('select metadata from events where account_id = $1 and position = $2', [
    admin.accountId,
    position,
  ]);
  return rows[0].metadata as string;
};

describe('the correlation id of an event', () => {
  it('is the trace-id of the request, in the feed, in histories and in the line of the request', async () => {
    const taken = takeLines();
    const created = await newCredential(TRACED);
    const operation = operationOf(created);
    const lines = () => taken.lines().filter(({ fields }) => fields.operation_id === operation);
    while (lines().length === 0) await sleep(5);
    const found = lines();
    taken.end();
    expect(found).toMatchObject([{ fields: { correlation_id: TRACE_ID, status: 201 } }]);
    const [event] = await eventsAfter(positionOf(created) - 1);
    expect(event).toMatchObject({ correlationid: TRACE_ID, operationid: operation });
    expect(event).not.toHaveProperty('causationid');
    const { body } = await admin.client.get(`/ssh_credentials/${created.body.id}/events`);
    expect(body.events).toMatchObject([{ correlation_id: TRACE_ID, operation_id: operation, causation_id: null }]);
  });

  it('is in the metadata, which the hash of the event covers; nothing else of the trace is', async () => {
    const metadata = await metadataAt(positionOf(await newCredential(TRACED)));
    expect(JSON.parse(metadata).correlation_id).toBe(TRACE_ID);
    expect(metadata).not.toMatch(/00f067aa0ba902b7|in-the-state|in-the-baggage/);
  });

  it.each([
    ['absent', {}],
    ['malformed', { traceparent: `00-${TRACE_ID.toUpperCase()}-00f067aa0ba902b7-01` }],
  ])('is the operation id of the request if its traceparent is %s, which is no error', async (_, headers) => {
    const created = await newCredential(headers);
    expect(created.status).toBe(201);
    const operation = operationOf(created);
    expect(await eventsAfter(positionOf(created) - 1)).toMatchObject([{ correlationid: operation }]);
    expect(JSON.parse(await metadataAt(positionOf(created)))).not.toHaveProperty('correlation_id');
    const { body } = await admin.client.get(`/ssh_credentials/${created.body.id}/events`);
    expect(body.events).toMatchObject([{ correlation_id: operation }]);
  });

  it('stays that of the first request when the request is repeated in another trace', async () => {
    const body = { public_key: newPublicKey() };
    const key = { 'idempotency-key': 'the same change' };
    const first = await admin.client.post('/ssh_credentials', body, { ...key, ...TRACED });
    const again = await admin.client.post('/ssh_credentials', body, key);
    expect([again.status, positionOf(again)]).toEqual([201, positionOf(first)]);
    expect((await eventsAfter(positionOf(first) - 1))[0]).toMatchObject({ correlationid: TRACE_ID });
  });
});

describe('the causation id of an event', () => {
  it('is the id of the deletion that removed what a user owned and ended its administration', async () => {
    const user = await addUser(service, 'admin', admin.client);
    await user.client.post('/ssh_credentials', { public_key: newPublicKey() });
    const before = positionOf(await newCredential());
    await admin.client.delete(`/users/${user.id}`, TRACED);
    const events = await eventsAfter(before);
    const deletion = events.find(({ type }: { type: string }) => type === 'user_deleted.v1');
    expect(deletion).not.toHaveProperty('causationid');
    const caused = events.filter(({ id }: { id: string }) => id !== deletion.id);
    expect(caused.map(({ type }: { type: string }) => type).sort()).toEqual([
      'account_admins_changed.v1',
      'api_key_deleted.v1',
      'ssh_credential_deleted.v1',
    ]);
    for (const event of events) expect(event.correlationid).toBe(TRACE_ID);
    for (const event of caused) expect(event.causationid).toBe(deletion.id);
  });

  it('is that id for removals in later appends too', async () => {
    const bot = await addBot(service, admin.client);
    await addManyCredentials(service.pool, bot, 201);
    const before = positionOf(await newCredential());
    const deleted = await admin.client.delete(`/bot_users/${bot.id}`, TRACED);
    const events = await eventsAfter(before);
    const { id } = events.find(({ type }: { type: string }) => type === 'bot_user_deleted.v1');
    const removals = events.filter(({ subject }: { subject: string }) => subject !== bot.id);
    expect(removals).toHaveLength(202);
    expect(events.at(-1).logposition).toBeGreaterThan(positionOf(deleted));
    for (const event of removals) expect(event).toMatchObject({ causationid: id, correlationid: TRACE_ID });
    expect(await chainFaults()).toEqual([]);
  });

  it('does not hide from a command whose answer was lost that the events are its own', async () => {
    const proxy = await startSwallowingProxy(service.databaseUrl);
    const { log, close } = openLog(proxy.url);
    const [cause, caused] = [newEvent('x', 1), newEvent('y', 1)];
    await log.append(appendOf('ac_of_the_proxy', newEvent('w', 1)));
    proxy.swallowNextAnswer();
    const { streams, ...append } = appendOf('ac_of_the_proxy', cause, caused);
    const causedBy = (stream: StreamAppend) => (stream.id === 'y' ? { ...stream, causedBy: cause.eventId } : stream);
    const appended = await log.append({ ...append, streams: streams.map(causedBy) });
    await close();
    await proxy.close();
    expect([proxy.swallowed, appended]).toEqual([1, { position: 3, isDuplicate: false }]);
  });

  it('is that of the creation of an account for its first admin and key', async () => {
    const { client } = await addAccount(service);
    const [account, ...others] = await eventsAfter(0, client);
    expect(account.type).toBe('account_created.v1');
    expect(others).toHaveLength(2);
    for (const event of others) expect(event.causationid).toBe(account.id);
  });
});

/** Events whose hash does not cover their metadata as it is. */
async function chainFaults() {
  const { rows } = await service.pool.query(
    `select position from events where account_id = $1 and leaf_hash <> '' and leaf_hash <> event_leaf_hash(account_id,
       position, stream_id, stream_version, event_id, type, data, metadata, occurred_at, recorded_at)`,
    [admin.accountId],
  );
  return rows;
}
