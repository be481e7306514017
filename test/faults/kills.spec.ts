import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it, jest } from '@jest/globals';
import { FaultyProxy } from '../support/faulty-proxy.js';
import { freePort } from '../support/free-port.js';
import { PostgresServer } from '../support/postgres-server.js';
import { type RunningMain, startMain } from '../support/process.js';
import { FAULT_COLUMNS, faultRow, type LoadReport, recordLoad } from '../support/recorded-load.js';
import { ADMIN_KEY, GATEWAY_TOKEN } from '../support/service.js';

/** Faults of each kind under load. CI injects a few; FAULTS_ROUNDS=100 makes a campaign of it. */
const ROUNDS = Number(process.env.FAULTS_ROUNDS ?? 2);
const CHANGES_BETWEEN = 30;
jest.setTimeout(180_000 + 30_000 * ROUNDS);
const HOST = '127.0.0.1';
const rows: string[] = [];

afterAll(() => {
  process.stderr.write(`\n${[FAULT_COLUMNS, FAULT_COLUMNS.replaceAll(/[^|]+/g, '---'), ...rows].join('\n')}\n`);
});

interface Deployment {
  readonly instances: RunningMain[];
  restart(n: number): Promise<void>;
}

/** `host`: of the database, or of a proxy before it. */
async function deploy({ host }: { readonly host: string }, ports: readonly number[]): Promise<Deployment> {
  const settings = {
    DATABASE_URL: `postgres://postgres@${host}/service`,
    BOOTSTRAP_API_KEY: ADMIN_KEY,
    GATEWAY_TOKENS: GATEWAY_TOKEN,
    LOG_LEVEL: 'error',
  };
  const startOne = (port: number): RunningMain => startMain({ ...settings, PORT: String(port) });
  const instances = ports.map(startOne);
  for (const instance of instances) await instance.url;
  const restart = async (n: number): Promise<void> => {
    const [old, port] = [instances[n], ports[n]];
    if (old === undefined || port === undefined) throw new RangeError(`there is no instance ${n}`);
    old.child.kill('SIGKILL');
    await old.ended;
    instances[n] = startOne(port);
    await instances[n]?.url;
  };
  return { instances, restart };
}

async function underLoad(fault: string, { instances }: Deployment, inject: (round: number) => Promise<void>) {
  const urls = await Promise.all(instances.map(({ url }) => url));
  const load = recordLoad({ urls, apiKey: ADMIN_KEY, gatewayToken: GATEWAY_TOKEN });
  for (let round = 0; round < ROUNDS; round += 1) {
    await load.more(CHANGES_BETWEEN);
    await inject(round);
  }
  await load.more(CHANGES_BETWEEN);
  const report: LoadReport = await load.stop();
  rows.push(faultRow(fault, ROUNDS, report));
  return report;
}

const NOTHING_LOST = { lost: [], twice: [], staleYes: [], unexpected: [] };

async function startDatabase(): Promise<PostgresServer> {
  const primary = await PostgresServer.primary();
  await primary.query('create database service');
  return primary;
}

describe('under load through two instances, no acknowledged change is lost or written twice, and no yes is stale', () => {
  it('when instances are killed', async () => {
    const deployment = await deploy(await startDatabase(), [await freePort(HOST), await freePort(HOST)]);
    const report = await underLoad('kill -9 of an instance', deployment, (round) => deployment.restart(round % 2));
    expect(report).toMatchObject(NOTHING_LOST);
  });

  it('when the database crashes and recovers', async () => {
    const primary = await startDatabase();
    const deployment = await deploy(primary, [0, 0]);
    const report = await underLoad('kill -9 of the database', deployment, async () => {
      await primary.kill('SIGKILL');
      await primary.start();
    });
    expect(report).toMatchObject(NOTHING_LOST);
  });

  it('when connections are cut by the administrator', async () => {
    const primary = await startDatabase();
    const deployment = await deploy(primary, [0, 0]);
    const report = await underLoad('all connections terminated', deployment, async () => {
      await primary.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = 'service'`);
    });
    expect(report).toMatchObject(NOTHING_LOST);
  });

  it('when the primary dies and the synchronous standby is promoted', async () => {
    const primary = await startDatabase();
    const standby = await primary.addStandby('standby');
    const proxy = await FaultyProxy.to(primary.port);
    const deployment = await deploy(proxy, [0, 0]);
    await primary.set({ synchronous_standby_names: 'standby' });
    await primary.untilSynchronous('standby');
    const urls = await Promise.all(deployment.instances.map(({ url }) => url));
    const load = recordLoad({ urls, apiKey: ADMIN_KEY, gatewayToken: GATEWAY_TOKEN });
    await load.more(CHANGES_BETWEEN);
    await primary.kill();
    await sleep(1_000);
    await standby.promote();
    proxy.leadTo(standby.port);
    await load.more(CHANGES_BETWEEN);
    const report = await load.stop();
    rows.push(faultRow('failover to the synchronous standby', 1, report));
    expect(report).toMatchObject(NOTHING_LOST);
  });
});
