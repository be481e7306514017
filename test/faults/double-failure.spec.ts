import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Instance, startInstance } from '../support/instance.js';
import { newPublicKey } from '../support/keys.js';
import { PostgresServer } from '../support/postgres-server.js';

/**
 * A primary whose commits wait for a synchronous standby. Its crash, or a cancelled wait, makes a change visible that the
 * standby does not have: acknowledged now, it would be lost with the primary.
 */
let primary: PostgresServer;
let standby: PostgresServer;
let instance: Instance;

beforeAll(async () => {
  primary = await PostgresServer.primary();
  await primary.query('create database service');
  standby = await primary.addStandby('standby');
  instance = await startInstance(primary.url('service'), { writeDeadlineMs: 3_000 });
  await primary.set({ synchronous_standby_names: 'standby' });
});
afterAll(() => instance.stop());

beforeEach(async () => {
  await primary.untilSynchronous('standby');
  expect((await create()).status).toBe(201);
  await standby.pause();
});
afterEach(() => standby.resume());

const create = (description = '', key?: string) =>
  instance.admin.post(
    '/ssh_credentials',
    { public_key: newPublicKey(), description },
    key === undefined ? {} : { 'idempotency-key': key },
  );

/** The backends whose commit waits for the standby. */
const WAITING = `from pg_stat_activity where wait_event = 'SyncRep' and query like '%log_heads%'`;

async function untilWaiting(): Promise<void> {
  while ((await primary.query(`select pid ${WAITING}`)).length === 0) await sleep(20);
}

/** The server keeps waiting for the standby after a restart; a session that only reads does not. */
const isVisible = async (description: string): Promise<boolean> =>
  (await primary.query(`select 1 from ssh_credentials where description = '${description}'`, 'service')).length > 0;

const UNKNOWN = {
  status: 503,
  body: { error_code: 'ERR_TAS_503', msg: expect.stringContaining('outcome is unknown') },
};

describe('while the synchronous standby is away, a change is not acknowledged', () => {
  it('after the backend that waits was terminated', async () => {
    const answer = create('terminated');
    await untilWaiting();
    await primary.query(`select pg_terminate_backend(pid) ${WAITING}`);
    expect(await answer).toMatchObject(UNKNOWN);
    expect(await isVisible('terminated')).toBe(true);
  });

  it('after the wait was cancelled, which PostgreSQL answers with success', async () => {
    const answer = create('cancelled');
    await untilWaiting();
    await primary.query(`select pg_cancel_backend(pid) ${WAITING}`);
    expect(await answer).toMatchObject(UNKNOWN);
    expect(await isVisible('cancelled')).toBe(true);
  });

  it('after the primary crashed and came back', async () => {
    const answer = create('crashed');
    await untilWaiting();
    await primary.kill();
    await primary.start();
    expect(await answer).toMatchObject(UNKNOWN);
    expect(await isVisible('crashed')).toBe(true);
  });

  it('when it is repeated under its Idempotency-Key; it is, once, when the standby is back', async () => {
    const key = randomUUID();
    const body = { public_key: newPublicKey(), description: 'repeated' };
    const post = () => instance.admin.post('/ssh_credentials', body, { 'idempotency-key': key });
    const first = post();
    await untilWaiting();
    await primary.query(`select pg_terminate_backend(pid) ${WAITING}`);
    expect(await first).toMatchObject(UNKNOWN);
    expect(await isVisible('repeated')).toBe(true);
    const second = post();
    const early = await Promise.race([second, sleep(2_000)]);
    expect(early).toBeUndefined();
    await standby.resume();
    await primary.untilSynchronous('standby');
    const { status, body: found } = await second;
    expect([201, 503]).toContain(status);
    const third = await post();
    expect(third.status).toBe(201);
    if (status === 201) expect(third.body.id).toBe(found.id);
    const rows = await primary.query(`select 1 from ssh_credentials where description = 'repeated'`, 'service');
    expect(rows).toHaveLength(1);
  });

  it('when the same PATCH is sent again and finds nothing to change', async () => {
    await standby.resume();
    const { body } = await create('before');
    await standby.pause();
    const patch = () => instance.admin.patch(`/ssh_credentials/${body.id}`, { description: 'after' });
    const first = patch();
    await untilWaiting();
    await primary.query(`select pg_terminate_backend(pid) ${WAITING}`);
    expect(await first).toMatchObject(UNKNOWN);
    expect(await isVisible('after')).toBe(true);
    const second = patch();
    expect(await Promise.race([second, sleep(2_000)])).toBeUndefined();
    await standby.resume();
    expect([200, 503]).toContain((await second).status);
    expect((await patch()).status).toBe(200);
  });
});

describe('a change whose first attempt was cut off', () => {
  it('is acknowledged as soon as the standby is back', async () => {
    const answer = create('late');
    await untilWaiting();
    await primary.query(`select pg_terminate_backend(pid) ${WAITING}`);
    await sleep(500);
    await standby.resume();
    expect((await answer).status).toBe(201);
  });
});
