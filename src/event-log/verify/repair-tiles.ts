import type { ClientBase } from 'pg';
import { DedicatedConnections, type MaintenanceDatabase, PostgresFailure } from '../../database/index.js';
import { OperatorError } from '../../kernel/operator-error.js';
import { endAlarms, type StoredAlarm } from '../transparency/seal/log-alarms.js';
import { SealedLogs } from '../transparency/seal/sealed-logs.js';
import type { VerifierKey } from '../transparency/tree/signed-note.js';
import { SealedChecks } from './sealed-checks.js';
import type { OnTileFault, TileFault } from './tile-checks.js';

/** The result of the repair of one log. */
interface RepairedLog {
  readonly account: string;
  /** The number of tiles that were written or removed. */
  readonly tiles: number;
  /** Why the tiles were not repaired: the events do not match what was signed. */
  readonly refusal: string | undefined;
}

export interface RepairWatcher {
  /** Undefined: all accounts. */
  readonly account: string | undefined;
  readonly keysOf: (account: string) => readonly VerifierKey[];
  readonly repaired: (log: RepairedLog) => void;
}

/**
 * Makes the tiles of each log from its leaves, compares them with the signed checkpoints, and replaces the stored tiles
 * that differ. Then it ends the alarms about tiles that are in order now, and resolves with these alarms. The
 * database's role must own the tables, because the guard of the tiles is switched off during the repair.
 */
export const repairTiles = (database: MaintenanceDatabase, watcher: RepairWatcher): Promise<readonly StoredAlarm[]> =>
  DedicatedConnections.use(database, async (connections) => {
    const reader = await connections.openSnapshot();
    const { rows } = await reader.query<{ account_id: string }>(LOGS, [watcher.account ?? null]);
    const inOrder: string[] = [];
    for (const { account_id: account } of rows) {
      const keys = watcher.keysOf(account);
      let tiles = 0;
      const count = (): void => {
        tiles += 1;
      };
      const refusal = await compareWithCheckpoints(reader, account, keys, count);
      // If no tile is wrong, nothing is locked and the sealer need not wait.
      const log = tiles === 0 ? { account, tiles, refusal } : await repairLog(connections, account, keys);
      watcher.repaired(log);
      if (log.refusal === undefined) inOrder.push(account);
    }
    await connections.release(reader);
    return endAlarmsOf(connections, inOrder);
  });

/** Ends the alarms of these accounts about tiles. If there are none, this needs no right to end alarms. */
async function endAlarmsOf(
  connections: DedicatedConnections,
  accounts: readonly string[],
): Promise<readonly StoredAlarm[]> {
  const client = await connections.openTransaction();
  const { rows } = await client.query<{ account_id: string }>(ALARMED, [accounts]);
  const alarmed = rows.map(({ account_id }) => account_id);
  const ended =
    alarmed.length === 0
      ? []
      : await endAlarms(client, { accounts: alarmed, loss: 'tiles' }, 'audit repair-tiles: the tiles are in order');
  await connections.commit(client);
  return ended;
}

const ALARMED = `select distinct account_id from log_alarms where account_id = any($1) and loss = 'tiles' and ended_at is null`;

const LOGS = `select account_id from log_checkpoints where $1::text is null or account_id = $1
  union select account_id from log_tiles where $1::text is null or account_id = $1 order by 1`;

/**
 * Repairs one log. No log is sealed until the transaction ends, because the statement that lifts the guard locks the
 * table.
 */
async function repairLog(
  connections: DedicatedConnections,
  account: string,
  keys: readonly VerifierKey[],
): Promise<RepairedLog> {
  const client = await connections.openTransaction();
  await liftGuard(client);
  let tiles = 0;
  const refusal = await compareWithCheckpoints(client, account, keys, async (fault) => {
    tiles += 1;
    await write(client, account, fault);
  });
  if (refusal === undefined) {
    await client.query('alter table log_tiles enable trigger log_tiles_guard');
    await connections.commit(client);
  }
  await connections.release(client);
  return { account, tiles: refusal === undefined ? tiles : 0, refusal };
}

async function liftGuard(client: ClientBase): Promise<void> {
  try {
    await client.query('alter table log_tiles disable trigger log_tiles_guard');
  } catch (error) {
    if (!PostgresFailure.of(error).lacksPrivilege) throw error;
    throw new OperatorError(
      'only the owner of the tables may lift the guard of the tiles: set MIGRATION_DATABASE_URL, with the role that owns them',
    );
  }
}

/**
 * Makes all tiles of a log that has checkpoints but no tiles. Resolves with the size of the newest checkpoint, or 0
 * without one.
 */
export async function makeTiles(client: ClientBase, account: string): Promise<number> {
  await compareWithCheckpoints(client, account, [], (fault) => write(client, account, fault));
  return (await logsOn(client).lastCheckpoint(account))?.size ?? 0;
}

export const logsOn = (client: ClientBase): SealedLogs =>
  new SealedLogs({ run: ({ text }, values) => client.query(text, [...values]) });

const LEAVES_AT_ONCE = 10_000;

/** Compares the leaves with the checkpoints. Resolves with the first fault that is not about a tile. */
async function compareWithCheckpoints(
  client: ClientBase,
  account: string,
  keys: readonly VerifierKey[],
  tileFault: OnTileFault,
): Promise<string | undefined> {
  const faults: string[] = [];
  const logs = logsOn(client);
  const checks = new SealedChecks(logs, account, keys, { fault: (what) => void faults.push(what), tileFault });
  await checks.begin();
  const signed = (await logs.lastCheckpoint(account))?.size ?? 0;
  let size = 0;
  for (let isWhole = true; isWhole && size < signed; ) {
    const to = Math.min(size + LEAVES_AT_ONCE, signed);
    const leaves = await logs.leaves(account, size, to);
    isWhole = leaves.length === to - size;
    for (const leaf of leaves) {
      size += 1;
      await checks.add(size, leaf);
    }
  }
  await checks.end(size);
  return faults[0];
}

async function write(client: ClientBase, account: string, { level, index, made }: TileFault): Promise<void> {
  if (made === undefined) await client.query(REMOVE, [account, level, index]);
  else await client.query(REPLACE, [account, level, index, made.hashes]);
}

const REMOVE = 'delete from log_tiles where account_id = $1 and level = $2 and index = $3';

const REPLACE = `insert into log_tiles (account_id, level, index, hashes) values ($1, $2, $3, $4)
  on conflict (account_id, level, index) do update set hashes = excluded.hashes`;
