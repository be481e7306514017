import type { Client } from 'pg';
import { DedicatedConnections, type MaintenanceDatabase } from '../../database/index.js';
import { claimDifferences } from '../claims/held-claims.js';
import type { AnyReadModel } from '../read-model.js';
import { checkLogs, type VerifyWatcher } from '../verify/verify.js';
import { Comparison } from './comparison.js';
import { type Digests, digestsOf } from './digests.js';
import { estimatedEvents, type Scope } from './folded-chunks.js';
import type { Difference } from './row-comparison.js';
import { ReplayError } from './stream-fold.js';

/** What a proof has read, and how much of it differs. */
export interface Proof {
  readonly events: number;
  readonly rows: number;
  /** The number of differences, together with the faults of the logs. */
  readonly differences: number;
  /** The time that the fold and the comparison took, without the checks of the logs. */
  readonly comparedMs: number;
}

export interface ProofWatcher
  extends Pick<VerifyWatcher, 'account' | 'keysOf' | 'events' | 'fault' | 'warn' | 'unchecked'> {
  /** A step begins: the check of an account's log, or the comparison of the tables. `events` may be an estimate. */
  readonly begin: (what: string, events: number) => void;
  readonly difference: (difference: Difference) => void;
  /** Absent: no digests are made. */
  readonly digests?: (digests: Digests) => void;
}

/** The read models and rows that a proof covers. */
export interface ProofScope {
  /** Every read model, for the checks of the logs. */
  readonly all: readonly AnyReadModel[];
  /** The read models whose tables are compared. */
  readonly proven: readonly AnyReadModel[];
  /** Compares only the rows of this stream. Undefined: of all streams. */
  readonly id?: string | undefined;
}

/** Checks the logs as `verify` does, and compares the live rows with the fold of the logs, in one snapshot. */
export async function prove(
  database: MaintenanceDatabase,
  { all, proven, id }: ProofScope,
  watcher: ProofWatcher,
): Promise<Proof> {
  return DedicatedConnections.use(database, async (connections) => {
    const client = await connections.openSnapshot();
    const snapshot = await connections.exportSnapshot(client);
    let faults = 0;
    const fault: ProofWatcher['fault'] = (one) => {
      faults += 1;
      watcher.fault(one);
    };
    const begin = (account: string, events: number): void => watcher.begin(`the log of ${account}`, events);
    await checkLogs(connections, all, { ...watcher, begin, fault }, snapshot);
    const start = performance.now();
    const scope = { models: proven, account: watcher.account, id };
    const compared = await proveRows({ connections, client, snapshot }, scope, { ...watcher, fault });
    const comparedMs = performance.now() - start;
    watcher.digests?.(await digestsOf(client, proven, watcher.account));
    return { ...compared, differences: compared.differences + faults, comparedMs };
  });
}

interface SharedSnapshot {
  readonly connections: DedicatedConnections;
  readonly client: Client;
  readonly snapshot: string;
}

async function proveRows(
  { connections, client, snapshot }: SharedSnapshot,
  scope: Scope,
  watcher: ProofWatcher,
): Promise<Omit<Proof, 'comparedMs'>> {
  watcher.begin('the tables', await estimatedEvents(client, scope));
  const reader = await connections.openSnapshot(snapshot);
  const comparison = new Comparison({ rows: client, events: reader }, scope, watcher.events);
  let claims = 0;
  try {
    for await (const { differences } of comparison.run()) differences.forEach(watcher.difference);
    await connections.release(reader);
    // Which claims belong to one stream is not known.
    if (scope.id === undefined) {
      const changes = comparison.claims;
      const found = claimDifferences(await connections.openSnapshot(snapshot), scope.models, scope.account, changes);
      for await (const differences of found) {
        claims += differences.length;
        differences.forEach(watcher.difference);
      }
    }
  } catch (error) {
    if (!(error instanceof ReplayError)) throw error;
    watcher.fault({
      account: watcher.account,
      what: `${error.message}; from there on no rows were compared, and no claims`,
    });
  }
  const { events, rows, differences } = comparison;
  return { events, rows, differences: differences + claims };
}
