import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { runCli } from '../support/process.js';
import { type LoadReport, recordLoad } from '../support/recorded-load.js';
import { Cluster } from './support/cluster.js';
import { type Fault, faultsOf } from './support/faults.js';
import { askGateways, type QuestionsReport } from './support/gateway-questions.js';
import { ADMIN_KEY, GATEWAY_TOKEN, type Instance, startInstance } from './support/instance.js';
import { buildNetwork } from './support/machines.js';

/** How often each fault strikes. */
const ROUNDS = Number(process.env.HA_ROUNDS ?? 1);
/** The goal: Patroni's ttl (docs/failover/patroni.yml) and five seconds. */
const MAX_PAUSE_MS = 25_000;
const CHANGES_BEFORE_AND_AFTER = 200;
const ROUND_TIMEOUT_MS = 180_000;

let cluster: Cluster;
let instances: readonly Instance[];
const rows: string[] = [];

beforeAll(async () => {
  await buildNetwork();
  cluster = await Cluster.start();
  instances = [
    await startInstance('app1', 41, process.env.HA_APP1 ?? cluster.severalHosts),
    await startInstance('app2', 42, cluster.throughHaproxy),
  ];
}, ROUND_TIMEOUT_MS);

afterAll(() => {
  process.stdout.write(`\n${rows.join('\n')}\n`);
});

const FAULTS = [
  'switchover',
  'kill of the primary',
  'kill of the leading etcd',
  'primary cut off with an instance',
  'primary cut off with haproxy and an instance',
];
const only = process.env.HA_FAULTS?.split(',');
const planned = Array.from({ length: ROUNDS }, () => FAULTS.filter((_, n) => only?.includes(String(n)) ?? true)).flat();

it.each(planned)(
  'loses no acknowledged change, answers no stale yes and recovers in time after: %s',
  async (name) => {
    const [app1, app2] = instances;
    if (app1 === undefined || app2 === undefined) throw new Error('the instances do not run');
    const fault = faultsOf(cluster, [app1.machine], [app2.machine]).find((one) => one.name === name);
    if (fault === undefined) throw new Error(`unknown fault ${name}`);
    const questions = await askGateways(instances);
    const load = recordLoad({ urls: instances.map(({ url }) => url), apiKey: ADMIN_KEY, gatewayToken: GATEWAY_TOKEN });
    await load.more(CHANGES_BEFORE_AND_AFTER);
    const began = performance.now();
    const repair = await fault.strike();
    await load.more(CHANGES_BEFORE_AND_AFTER);
    console.log(`struck ${name}`, performance.now() - began);
    await new Promise((resolve) => setTimeout(resolve, 3000));
    await repair();
    await cluster.healthy();
    console.log(`repaired`, performance.now() - began);
    const asked = await questions.stop();
    const report = await load.stop();
    console.log(report, asked);
    rows.push(
      `${name} ${report.acknowledged} lost ${report.lost.length} ${report.longestPauseMs} stale ${asked.staleYes.length} ${report.staleYes.length}`,
    );
    console.log('verify', await runCli({ DATABASE_URL: cluster.throughHaproxy }, 'audit', 'verify'));
    console.log('prove', await runCli({ DATABASE_URL: cluster.throughHaproxy }, 'projections', 'prove'));
    expect(report).toMatchObject({ lost: [], twice: [], staleYes: [], unexpected: [] });
    expect(asked.staleYes).toEqual([]);
    expect(report.longestPauseMs).toBeLessThanOrEqual(MAX_PAUSE_MS);
  },
  ROUND_TIMEOUT_MS,
);
