import { READ_MODELS } from '../../src/api/read-models.js';
import type { MaintenanceDatabase } from '../../src/database/dedicated-connections.js';
import { type Proof, prove } from '../../src/event-log/fold/proof.js';
import type { Difference } from '../../src/event-log/fold/row-comparison.js';
import type { AnyReadModel } from '../../src/event-log/read-model.js';
import { type VerifyWatcher, verify } from '../../src/event-log/verify/verify.js';

interface Chosen {
  readonly account?: string | undefined;
  readonly id?: string;
  readonly all?: readonly AnyReadModel[];
  readonly proven?: readonly AnyReadModel[];
  /** Default: signatures are not checked. */
  readonly keysOf?: VerifyWatcher['keysOf'];
}

interface Found {
  readonly proof: Proof;
  /** The faults of the logs, in words. */
  readonly faults: readonly string[];
  /** The differences of the rows. */
  readonly differences: Difference[];
}

const QUIET = { begin: () => undefined, events: () => undefined, keysOf: () => [] };

/** What a proof finds. */
export async function provenOf(database: MaintenanceDatabase, chosen: Chosen = {}): Promise<Found> {
  const { account, id, all = READ_MODELS, proven = all, keysOf = QUIET.keysOf } = chosen;
  const [faults, differences]: [string[], Difference[]] = [[], []];
  const proof = await prove(
    database,
    { all, proven, id },
    {
      ...QUIET,
      account,
      keysOf,
      fault: ({ what }) => faults.push(what),
      difference: (one) => differences.push(one),
    },
  );
  return { proof, faults, differences };
}

/** The faults that `audit verify` finds. */
export async function faultsOf(database: MaintenanceDatabase, keysOf = QUIET.keysOf as VerifyWatcher['keysOf']) {
  const faults: string[] = [];
  await verify(database, READ_MODELS, {
    ...QUIET,
    account: undefined,
    keysOf,
    fault: ({ what }) => faults.push(what),
  });
  return faults;
}
