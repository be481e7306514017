import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Answer, ApiClient } from '../support/api-client.js';
import { takeErrorLinesLike } from '../support/error-lines.js';
import { FaultyProxy } from '../support/faulty-proxy.js';
import { type Instance, startInstance } from '../support/instance.js';
import { newPublicKey } from '../support/keys.js';
import { asAdministrator, startPgBouncer } from '../support/pgbouncer.js';
import { PostgresServer } from '../support/postgres-server.js';
import { runCli, startMain, stopMain } from '../support/process.js';
import { ADMIN_KEY, GATEWAY_TOKEN } from '../support/service.js';

/** PgBouncer of Debian in transaction mode: each statement may reach another session of the server. */
let url: string;
let postgres: PostgresServer;

beforeAll(async () => {
  postgres = await PostgresServer.primary();
  await postgres.query('create database service');
  url = await startPgBouncer(postgres.port, 'service');
});

/** The pooler may still lead a request to a connection that was cut, and the service then says 503. */
async function answered(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer.status !== 503) return answer;
  }
}

const CONCURRENTLY = Array.from({ length: 30 }, (_, n) => n);

/** Uses every statement often, from many requests at once. */
async function useAll({ admin, gateway }: Pick<Instance, 'admin' | 'gateway'>): Promise<readonly number[]> {
  const statuses = await Promise.all(
    CONCURRENTLY.map(async (n) => {
      const public_key = newPublicKey();
      const create = await admin.post('/ssh_credentials', { public_key, acl: ['bind:app.example.com'] });
      const path = `/ssh_credentials/${create.body.id}`;
      const moment = `as_of=${create.headers.get('log-position')}`;
      const answers = [create, await admin.patch(path, { description: `changed ${n}` })];
      for (const read of [
        path,
        `${path}?${moment}`,
        `/ssh_credentials?${moment}`,
        '/ssh_credentials',
        '/events?limit=10',
      ]) {
        answers.push(await admin.get(read));
      }
      answers.push(
        await gateway.post('/ssh_gateway/authorize', { public_key, target: { domain: 'app.example.com' } }),
        await admin.delete(path),
      );
      return answers.map(({ status }) => status);
    }),
  );
  return [...new Set(statuses.flat())].sort();
}

takeErrorLinesLike(/^(bind decisions could not be written and will be retried|the database does not answer): /);

describe('through PgBouncer in transaction mode', () => {
  it('with PREPARED_STATEMENTS=false a fresh database is migrated and every kind of request works', async () => {
    const instance = await startInstance(url, { preparedStatements: false });
    expect(await useAll(instance)).toEqual([200, 201, 204]);
    await instance.stop();
  });

  it('sessions of the pooler that are older than the defaults of the role are told, until they have ended', async () => {
    const [fresh] = await Promise.all([
      startPgBouncer(postgres.port, 'fresh'),
      postgres.query('create database fresh'),
    ]);
    const settings = { DATABASE_URL: fresh, PREPARED_STATEMENTS: 'false' };
    const lack = /because new connections lack .*, although the role postgres has these defaults: .*RECONNECT/;
    expect(await runCli(settings, 'migrate')).toMatchObject({ code: 0, stdout: expect.stringMatching(lack) });
    expect((await runCli(settings, 'doctor')).stdout).toMatch(lack);
    await asAdministrator(fresh, 'reconnect');
    expect((await runCli(settings, 'migrate')).stdout).not.toMatch(lack);
    expect((await runCli(settings, 'doctor')).stdout).toMatch(/^ok +plans /m);
  });

  it.each([
    ['audit', 'verify'],
    ['projections', 'rebuild'],
    ['projections', 'repair'],
    ['projections', 'prove'],
  ])('with PREPARED_STATEMENTS=false the command %s %s works', async (...command) => {
    const { code, stderr } = await runCli({ DATABASE_URL: url, PREPARED_STATEMENTS: 'false' }, ...command);
    expect({ code, stderr }).toMatchObject({ code: 0 });
  });

  it('nothing is answered from a standby that the pooler leads to, although the connections to it stay', async () => {
    const standby = await postgres.addStandby('standby');
    const proxy = await FaultyProxy.to(postgres.port);
    const pooled = await startPgBouncer(proxy.ownPort, 'service');
    const settings = { preparedStatements: false, writeDeadlineMs: 1_000 };
    const [behind, direct] = [await startInstance(pooled, settings), await startInstance(url, settings)];
    const [old, recent] = [newPublicKey(), newPublicKey()];
    const { body } = await behind.admin.post('/ssh_credentials', { public_key: old, acl: ['bind:app.example.com'] });
    const ask = (public_key: string) =>
      behind.gateway.post('/ssh_gateway/authorize', { public_key, target: { domain: 'app.example.com' } });
    expect((await ask(old)).body.allowed).toBe(true);
    // The standby keeps the past: the revoked key, and no key made since.
    await standby.query('select pg_wal_replay_pause()');
    expect((await direct.admin.delete(`/ssh_credentials/${body.id}`)).status).toBe(204);
    expect((await direct.admin.post('/ssh_credentials', { public_key: recent })).status).toBe(201);
    proxy.leadTo(standby.port);
    const path = `/ssh_credentials/${body.id}`;
    for (const read of [path, `${path}?as_of=1`, '/ssh_credentials', '/events', `${path}/events`, '/bind_decisions']) {
      expect([read, (await behind.admin.get(read)).status]).toEqual([read, 503]);
    }
    for (const key of [old, recent]) expect((await ask(key)).status).toBe(503);
    proxy.leadTo(postgres.port);
    expect((await answered(() => ask(old))).body.allowed).toBe(false);
    expect((await answered(() => ask(recent))).body.allowed).toBe(true);
    expect((await answered(() => behind.admin.get(path))).status).toBe(404);
    await standby.query('select pg_wal_replay_resume()');
    await Promise.all([behind.stop(), direct.stop()]);
  });

  it('with named statements the operator reads a sentence with the way out, and clients get 503', async () => {
    const main = startMain({ DATABASE_URL: url, BOOTSTRAP_API_KEY: ADMIN_KEY, GATEWAY_TOKENS: GATEWAY_TOKEN });
    const base = await main.url;
    const statuses = await useAll({
      admin: new ApiClient(base, ADMIN_KEY),
      gateway: new ApiClient(base, GATEWAY_TOKEN),
    }).catch((error) => error);
    await stopMain(main);
    expect(statuses).toContain(503);
    expect(statuses).not.toContain(500);
    expect(main.output()).toContain('set PREPARED_STATEMENTS=false');
    expect(main.output()).not.toContain('    at ');
  });
});
