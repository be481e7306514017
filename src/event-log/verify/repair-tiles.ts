import type { ClientBase } from 'pg';
import { DedicatedConnections, type MaintenanceDatabase, PostgresFailure } from '../../database/index.js';
import { OperatorError } from '../../kernel/operator-error.js';
import { endAlarms, type StoredAlarm } from '../transparency/seal/log-alarms.js';
import { SealedLogs } from '../transparency/seal/sealed-logs.js';
import { parseSignedCheckpoint } from '../transparency/tree/checkpoint.js';
import type { VerifierKey } from '../transparency/tree/signed-note.js';
import { GrowingTree, type StoredTile } from '../transparency/tree/tiles.js';

/** What happened to the tiles of one log. */
interface RepairedLog {
  readonly account: string;
  /** Why the tiles stay as they are: the events do not make what was signed. */
  readonly refusal: string | undefined;
  /** The alarms about its tiles, which are ended. */
  readonly ended: readonly StoredAlarm[];
}

/**
 * Makes all tiles of a log anew from the leaves, if they make the newest signed checkpoint, and ends the alarm about
 * them. Without an account it does so for each log with such an alarm. The database's role must own the tables, because
 * the guard of the tiles is switched off meanwhile.
 */
export const repairTiles = (
  database: MaintenanceDatabase,
  account: string | undefined,
  keysOf: (account: string) => readonly VerifierKey[],
): Promise<readonly RepairedLog[]> =>
  DedicatedConnections.use(database, async (connections) => {
    const { rows } = await database.pool.query<{ account_id: string }>(ALARMED);
    const repaired: RepairedLog[] = [];
    for (const one of account === undefined ? rows.map(({ account_id }) => account_id) : [account]) {
      repaired.push(await repairLog(connections, one, keysOf(one)));
    }
    return repaired;
  });

const ALARMED = `select distinct account_id from log_alarms where loss = 'tiles' and ended_at is null order by 1`;

/** No log is sealed until the transaction ends, because the statement that lifts the guard locks the table. */
async function repairLog(
  connections: DedicatedConnections,
  account: string,
  keys: readonly VerifierKey[],
): Promise<RepairedLog> {
  const client = await connections.openTransaction();
  await liftGuard(client);
  await client.query('delete from log_tiles where account_id = $1', [account]);
  const { refusal } = await makeTiles(client, account, keys);
  let ended: readonly StoredAlarm[] = [];
  if (refusal === undefined) {
    await client.query('alter table log_tiles enable trigger log_tiles_guard');
    ended = await endAlarms(client, { accounts: [account], loss: 'tiles' }, 'audit repair-tiles made them anew');
    await connections.commit(client);
  }
  await connections.release(client);
  return { account, refusal, ended };
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

interface MadeTiles {
  /** Events of the newest checkpoint; 0 without one. */
  readonly size: number;
  /** Why they are not what was signed. */
  readonly refusal: string | undefined;
}

const LEAVES_AT_ONCE = 10_000;

/**
 * Makes all tiles of a log that has none, and compares their root with the newest checkpoint. Without keys no signature
 * is checked.
 */
export async function makeTiles(
  client: ClientBase,
  account: string,
  keys: readonly VerifierKey[] = [],
): Promise<MadeTiles> {
  const logs = logsOn(client);
  const { size, note } = (await logs.lastCheckpoint(account)) ?? { size: 0, note: '' };
  const tree = new GrowingTree(0, []);
  for (let from = 0; from < size; from += LEAVES_AT_ONCE) {
    const to = Math.min(from + LEAVES_AT_ONCE, size);
    const leaves = await logs.leaves(account, from, to);
    if (leaves.length < to - from)
      return { size, refusal: `an event of the positions ${from + 1} to ${to} is missing` };
    for (const leaf of leaves) tree.add(leaf);
    for (const tile of tree.takeChanged()) await write(client, account, tile);
  }
  return { size, refusal: size === 0 ? undefined : refusalOf(tree.root(), size, note, keys) };
}

function refusalOf(root: Buffer, size: number, note: string, keys: readonly VerifierKey[]): string | undefined {
  const signed = parseSignedCheckpoint(note);
  const isSigned = signed?.checkpoint.size === size && (keys.length === 0 || keys.some(signed.isSignedBy));
  if (!isSigned) return `no known key has signed its newest checkpoint, which is of ${size} events`;
  const isMade = root.equals(signed.checkpoint.root);
  return isMade ? undefined : `its events do not make the signed checkpoint of ${size} events`;
}

export const logsOn = (client: ClientBase): SealedLogs =>
  new SealedLogs({ run: ({ text }, values) => client.query(text, [...values]) });

const write = (client: ClientBase, account: string, { level, index, hashes }: StoredTile): Promise<unknown> =>
  client.query(WRITE, [account, level, index, hashes]);

const WRITE = `insert into log_tiles (account_id, level, index, hashes) values ($1, $2, $3, $4)
  on conflict (account_id, level, index) do update set hashes = excluded.hashes`;
