import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Config } from '../../src/config.js';
import { FaultyProxy } from '../support/faulty-proxy.js';
import { type Instance, startInstance } from '../support/instance.js';
import { newPublicKey } from '../support/keys.js';
import { METRICS_TOKEN, scrape, seriesValue } from '../support/metrics.js';
import { PostgresServer } from '../support/postgres-server.js';

/** A GET with Min-Log-Position may come from a replica. It shows the log up to there all the same, whatever the replica does. */
let primary: PostgresServer;
let replica: PostgresServer;
let service: Instance;

const RETENTION = ['wal_keep_size=256MB', 'max_wal_senders=10'];

const start = (replicas: readonly string[], settings: Partial<Config> = {}): Promise<Instance> =>
  startInstance(primary.url('service'), {
    replicaDatabaseUrl: `postgres://postgres@${replicas.join(',')}/service`,
    metricsToken: METRICS_TOKEN,
    ...settings,
  });

beforeAll(async () => {
  primary = await PostgresServer.primary(...RETENTION);
  await primary.query('create database service');
  await primary.query('create extension pg_stat_statements', 'service').catch(() => undefined);
  replica = await primary.addStandby('replica');
  service = await start([replica.host]);
});
afterAll(() => service.stop());

interface Created {
  readonly id: string;
  /** The header that a reader of this change sends. */
  readonly after: Record<string, string>;
}

async function upload({ admin }: Instance, description = ''): Promise<Created> {
  const { status, body, headers } = await admin.post('/ssh_credentials', { public_key: newPublicKey(), description });
  expect(status).toBe(201);
  return { id: body.id, after: { 'min-log-position': headers.get('log-position') ?? '' } };
}

/** How many reads the replica and the primary have answered. */
async function answered({ url }: Instance): Promise<readonly [replica: number, primary: number]> {
  const text = await scrape(url);
  const of = (server: string) => seriesValue(text, `tunnel_access_positioned_reads_total{server="${server}"}`);
  return [of('replica'), of('primary')];
}

async function answeredBy(instance: Instance, work: () => Promise<unknown>): Promise<readonly [number, number]> {
  const before = await answered(instance);
  await work();
  const after = await answered(instance);
  return [after[0] - before[0], after[1] - before[1]];
}

const stateOf = async ({ url }: Instance): Promise<string> =>
  ((await (await fetch(`${url}/readyz`)).json()) as { replica: string }).replica;

describe('a replica', () => {
  it('answers', async () => {
    const { id, after } = await upload(service);
    const got = await service.admin.get(`/ssh_credentials/${id}`, after);
    expect([got.status, got.body.id]).toEqual([200, id]);
    expect(await answered(service)).toEqual([1, 0]);
  });
});
