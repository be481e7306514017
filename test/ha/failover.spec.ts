import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runCli } from '../support/process.js';
import { FAULT_COLUMNS, faultRow, type LoadReport } from '../support/recorded-load.js';
import { Cluster, databaseUrl, leaseMs } from './support/cluster.js';
import { FAULTS, type Fault } from './support/faults.js';
import { type Instance, startInstance } from './support/instance.js';
import { findPrimary } from './support/leaders.js';
import { buildNetwork } from './support/machines.js';
import { playRound, type Round } from './support/round.js';

/** How often each fault strikes: `HA_ROUNDS=20 npm run test:ha` for a campaign by hand. */
const ROUNDS = Number(process.env.HA_ROUNDS || 1);
/** A failover lasts as long as the lease of the lost primary (Patroni's ttl), and this long. */
const AFTER_LEASE_MS = 5_000;
/** On a slow machine the cluster itself may take longer than its lease. The service's part stays the same. */
const COLUMNS = `${FAULT_COLUMNS} pause of the cluster itself |`;
const START_TIMEOUT_MS = 180_000;
const ROUND_TIMEOUT_MS = 400_000;

let cluster: Cluster;
let instances: readonly [Instance, Instance];
const played = new Map<string, Round[]>();

beforeAll(async () => {
  await buildNetwork();
  cluster = await Cluster.start();
  instances = [await startInstance('app1', 41, 'haproxy'), await startInstance('app2', 42, 'PgBouncer')];
}, START_TIMEOUT_MS);

afterAll(() => {
  const rows = [...played].map(([fault, rounds]) => rowOf(fault, rounds));
  process.stdout.write(`\n${[COLUMNS, COLUMNS.replaceAll(/[^|]+/g, '---'), ...rows].join('\n')}\n\n`);
});

describe.each(FAULTS)('under recorded load, a $name', (fault: Fault) => {
  it.each(Array.from({ length: ROUNDS }, (_, n) => n + 1))(
    'loses no acknowledged change, brings no stale yes, and ends within ttl + 5 s (round %i)',
    async () => {
      const round = await playRound(fault, cluster, instances);
      played.set(fault.name, [...(played.get(fault.name) ?? []), round]);
      process.stderr.write(`${rowOf(fault.name, [round])}\n`);
      const { changes, questions, clusterPauseMs } = round;
      expect(changes).toMatchObject({ lost: [], twice: [], staleYes: [], unexpected: [] });
      expect(questions.staleYes.slice(0, 5)).toEqual([]);
      expect(changes.longestPauseMs).toBeLessThanOrEqual(Math.max(await leaseMs(), clusterPauseMs) + AFTER_LEASE_MS);
      // Else the round has proved nothing about gateways.
      expect(questions.revokedUnderFault).toBeGreaterThan(0);
      await expectSoundLog();
    },
    ROUND_TIMEOUT_MS,
  );
});

async function expectSoundLog(): Promise<void> {
  const settings = { DATABASE_URL: databaseUrl(await findPrimary()) };
  expect(await runCli(settings, 'audit', 'verify')).toMatchObject({ code: 0 });
  expect(await runCli(settings, 'projections', 'prove')).toMatchObject({ code: 0 });
}

const rowOf = (fault: string, rounds: readonly Round[]): string => {
  const clusterPauseMs = Math.max(...rounds.map((round) => round.clusterPauseMs));
  return `${faultRow(fault, rounds.length, sumOf(rounds))} ${(clusterPauseMs / 1000).toFixed(1)} s |`;
};

const sumOf = (rounds: readonly Round[]): LoadReport => ({
  acknowledged: rounds.reduce((sum, { changes, questions }) => sum + changes.acknowledged + questions.revoked, 0),
  failed: rounds.reduce((sum, { changes }) => sum + changes.failed, 0),
  lost: rounds.flatMap(({ changes }) => changes.lost),
  twice: rounds.flatMap(({ changes }) => changes.twice),
  staleYes: rounds.flatMap(({ changes, questions }) => [...changes.staleYes, ...questions.staleYes]),
  unexpected: rounds.flatMap(({ changes }) => changes.unexpected),
  longestPauseMs: Math.max(...rounds.map(({ changes }) => changes.longestPauseMs)),
});
