import { setTimeout as sleep } from 'node:timers/promises';
import { type LoadReport, recordLoad } from '../../support/recorded-load.js';
import type { Cluster } from './cluster.js';
import { type WatchedCommits, watchCommits } from './commits.js';
import type { Fault } from './faults.js';
import { askGateways, type QuestionsReport } from './gateway-questions.js';
import { ADMIN_KEY, GATEWAY_TOKEN, type Instance } from './instance.js';

export interface Round {
  readonly changes: LoadReport;
  readonly questions: QuestionsReport;
  /** The longest time in which a plain client could commit on no database. */
  readonly clusterPauseMs: number;
}

const CHANGES_BEFORE = 100;
const CHANGES_AFTER = 200;
/** Writes go on for this long before the damage is repaired: keys are deleted that a cut-off instance is asked about. */
const HOLD_MS = 4_000;

/** One fault under load, from a healthy cluster to a healthy cluster. */
export async function playRound(
  fault: Fault,
  cluster: Cluster,
  instances: readonly [Instance, Instance],
): Promise<Round> {
  let commits: WatchedCommits | undefined;
  try {
    await cluster.healthy();
    const questions = await askGateways(instances);
    const urls = instances.map(({ url }) => url);
    const load = recordLoad({ urls, apiKey: ADMIN_KEY, gatewayToken: GATEWAY_TOKEN });
    await load.more(CHANGES_BEFORE);
    commits = watchCommits(cluster);
    const repair = await fault.strike(cluster, instances);
    questions.faultBegins();
    await Promise.all([commits.first, load.more(CHANGES_AFTER)]);
    const clusterPauseMs = commits.stop();
    await sleep(HOLD_MS);
    await repair();
    await cluster.healthy();
    return { questions: await questions.stop(), changes: await load.stop(), clusterPauseMs };
  } catch (error) {
    process.stderr.write(`${cluster.explain()}\n${instances.map(explain).join('\n')}\n`);
    throw error;
  } finally {
    commits?.stop();
  }
}

const explain = ({ machine, program }: Instance): string =>
  `== ${machine.name}\n${program.output().split('\n').slice(-15).join('\n')}`;
