import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Config } from '../../src/api/config/config.js';
import { takeErrorLinesLike } from '../support/error-lines.js';
import { FaultyProxy } from '../support/faulty-proxy.js';
import { type Instance, startInstance } from '../support/instance.js';
import { newPublicKey } from '../support/keys.js';
import { PostgresServer } from '../support/postgres-server.js';

/** A standby answers from the past. No answer of the service may come from one, wherever its connections lead. */
let primary: PostgresServer;
let standby: PostgresServer;

beforeAll(async () => {
  primary = await PostgresServer.primary();
  await primary.query('create database service');
  standby = await primary.addStandby('standby');
});

const start = (host: string, settings: Partial<Config> = {}): Promise<Instance> =>
  startInstance(`postgres://postgres@${host}/service`, settings);

const TARGET = { domain: 'app.example.com' };

async function upload({ admin }: Instance): Promise<{ id: string; public_key: string }> {
  const public_key = newPublicKey();
  const { status, body } = await admin.post('/ssh_credentials', { public_key, acl: ['bind:app.example.com'] });
  expect(status).toBe(201);
  return { id: body.id, public_key };
}

takeErrorLinesLike(/^(bind decisions could not be written and will be retried|the database does not answer): /);

describe('an instance', () => {
  it('whose host becomes a standby says 503 and never yes to a revoked key, until it leads to the primary', async () => {
    const proxy = await FaultyProxy.to(primary.port);
    const behindProxy = await start(proxy.host);
    const direct = await start(primary.host);
    const { id, public_key } = await upload(behindProxy);
    const ask = () => behindProxy.gateway.post('/ssh_gateway/authorize', { public_key, target: TARGET });
    expect((await ask()).body.allowed).toBe(true);
    // The standby keeps the past: it stops replaying before the key is revoked.
    await standby.query('select pg_wal_replay_pause()');
    expect((await direct.admin.delete(`/ssh_credentials/${id}`)).status).toBe(204);
    proxy.leadTo(standby.port);
    for (let n = 0; n < 5; n += 1) {
      expect((await ask()).status).toBe(503);
      expect((await behindProxy.admin.get(`/ssh_credentials/${id}`)).status).toBe(503);
    }
    proxy.leadTo(primary.port);
    expect((await ask()).body.allowed).toBe(false);
    await standby.query('select pg_wal_replay_resume()');
    await Promise.all([behindProxy.stop(), direct.stop()]);
  });

  it('whose primary turns read-only answers changes with 503, and works again at once when it is writable', async () => {
    const instance = await start(primary.host, { writeDeadlineMs: 1_000 });
    await upload(instance);
    await primary.set({ default_transaction_read_only: 'on' });
    const refused = await instance.admin.post('/ssh_credentials', { public_key: newPublicKey() });
    expect(refused).toMatchObject({ status: 503, body: { error_code: 'ERR_TAS_503' } });
    expect((await instance.admin.get('/ssh_credentials')).status).toBe(503);
    await primary.query('alter system reset default_transaction_read_only');
    await primary.query('select pg_reload_conf()');
    await upload(instance);
    await instance.stop();
  });
});
