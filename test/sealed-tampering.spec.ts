import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openDatabase } from '../src/database/database.js';
import { KeyHistory, newCheckpointKey, originOf, signerOf } from '../src/event-log/transparency/seal/checkpoint-key.js';
import { seal } from '../src/event-log/transparency/seal/seal.js';
import { SealedLogs } from '../src/event-log/transparency/seal/sealed-logs.js';
import { checkpointText } from '../src/event-log/transparency/tree/checkpoint.js';
import { signNote } from '../src/event-log/transparency/tree/signed-note.js';
import { GrowingTree } from '../src/event-log/transparency/tree/tiles.js';
import { faultsOf as faultsIn, provenOf } from './support/found.js';
import { type Service, startService } from './support/service.js';
import { HASH_ANEW, whileTampered } from './support/tampering.js';

const KEY = newCheckpointKey('tunnels.example.com');
const KEYS = new KeyHistory(KEY);
/** Events of the log, and the sizes of its checkpoints. */
const SIZE = 40;
const SEALED = [10, 20, 30];

const DAMAGED_TILES =
  'the stored tiles are not those that the events make: audit repair-tiles with --account makes them anew';

/** What a superuser does so that the log is in order by itself, and what the checkpoints say. */
const TAMPERINGS: readonly (readonly [what: string, sql: string, said: readonly string[]])[] = [
  [
    'metadata that was edited and hashed anew',
    `update events set metadata = replace(metadata, '127.0.0.1', '192.0.2.1') where position = 15; ${HASH_ANEW}`,
    ['position 15: is not the event that was signed: it was edited and hashed anew, or another took its place'],
  ],
  [
    'times that were edited and hashed anew, in two places',
    `update events set recorded_at = recorded_at + interval '1 microsecond' where position in (5, 25); ${HASH_ANEW}`,
    [5, 25].map(
      (position) =>
        `position ${position}: is not the event that was signed: it was edited and hashed anew, or another took its place`,
    ),
  ],
  [
    'an event that was removed, with all others renumbered and hashed anew',
    `delete from events where position = 29; update events set position = position - 1 where position > 29;
     update log_heads set size = size - 1; ${HASH_ANEW}`,
    [29, 30].map(
      (position) =>
        `position ${position}: is not the event that was signed: it was edited and hashed anew, or another took its place`,
    ),
  ],
  [
    'a tail that was removed, with the head set back',
    'delete from events where position > 24; update log_heads set size = 24',
    ['the log has 24 events, but a checkpoint of 30 was signed: its tail is lost'],
  ],
  [
    'an edit for which the tiles were removed too',
    `update events set metadata = replace(metadata, '127.0.0.1', '192.0.2.1') where position = 15; ${HASH_ANEW}; delete from log_tiles`,
    ['positions 11 to 20: their events do not make the signed checkpoint of 20 events'],
  ],
  ['tiles that were removed', 'delete from log_tiles', [DAMAGED_TILES]],
  [
    'tiles that were changed',
    'update log_tiles set hashes = set_byte(hashes, 3, get_byte(hashes, 3) # 1)',
    [DAMAGED_TILES],
  ],
  [
    'a checkpoint and a head that claim more events than can be',
    `insert into log_checkpoints (account_id, size, follows, note) select account_id, 3000000000, 30, 'x' from log_heads;
     update log_heads set size = 3000000000`,
    [
      'positions 41 to 3000000000: missing',
      'positions 41 to 3000000000 are missing, so no later checkpoint can be compared',
    ],
  ],
  [
    'a checkpoint that another key signed',
    `update log_checkpoints set note = split_part(note, e'\\n\\n', 1) || e'\\n\\n' ||
       (select split_part(note, e'\\n\\n', 2) from log_checkpoints where size = 10) where size = 20`,
    ['the checkpoint of 20 events: its signature is wrong'],
  ],
];

let service: Service;
let account: string;
beforeAll(async () => {
  service = await startService();
  while ((await size()) < SIZE) await service.admin.post('/edges/tcp', { hostports: ['a.example:1'] });
  account = (await service.pool.query('select account_id from accounts')).rows[0].account_id;
  const logs = new SealedLogs(service.pool);
  for (const [i, to] of SEALED.entries()) {
    await seal(logs, KEYS, { accountId: account, size: to, sealed: SEALED[i - 1] ?? 0 });
  }
});
afterAll(() => service.stop());

const size = async (): Promise<number> => (await service.pool.query('select size::int from log_heads')).rows[0].size;

/** Signs what the tiles and the events make, and holds the tiles to no checkpoint. */
async function sealUnchecked(from: number, to: number): Promise<void> {
  const logs = new SealedLogs(service.pool);
  const tree = new GrowingTree(from, await logs.edge(account, from));
  for (const leaf of await logs.leaves(account, from, to)) tree.add(leaf);
  const text = checkpointText({ origin: originOf(KEY, account), size: to, root: tree.root() });
  await logs.seal(account, { size: to, note: signNote(text, signerOf(KEY, account)) }, from, tree.takeChanged());
}

/** The faults that `audit verify` finds. A proof finds them too. */
async function faultsOf(databaseUrl: string, keys = [KEY]): Promise<string[]> {
  const options = { databaseUrl, dataDir: '', databasePoolSize: 1, auditReadConnections: 1 };
  const database = await openDatabase(options, () => undefined);
  const keysOf = (id: string) => keys.map((key) => signerOf(key, id));
  try {
    const faults = await faultsIn(database, keysOf);
    expect((await provenOf(database, { keysOf })).faults).toEqual(expect.arrayContaining(faults));
    return faults;
  } finally {
    await database.close();
  }
}

const tampered = <T>(statements: string, work: () => Promise<T>): Promise<T> =>
  whileTampered(service.databaseUrl, statements, work);

describe('a log that was signed', () => {
  it('is in order as it is, with events that no checkpoint has yet', async () => {
    expect(await faultsOf(service.databaseUrl)).toEqual([]);
  });

  it.each(TAMPERINGS)('shows %s', async (_, statements, said) => {
    expect(await tampered(statements, () => faultsOf(service.databaseUrl))).toEqual(said);
  });

  it('is in order under any of several keys', async () => {
    expect(await faultsOf(service.databaseUrl, [newCheckpointKey('new.example.com'), KEY])).toEqual([]);
  });

  it('is missed when all of it is gone but its checkpoints', async () => {
    const gone = 'delete from events; delete from log_heads';
    expect(await tampered(gone, () => faultsOf(service.databaseUrl))).toEqual([
      'the log has 0 events, but a checkpoint of 30 was signed: its tail is lost',
    ]);
  });

  it.each([
    ['changed', 'update log_tiles set hashes = set_byte(hashes, 3, get_byte(hashes, 3) # 1)', 'do not make its'],
    ['removed', 'delete from log_tiles', 'missing or cut'],
  ])('is signed no further over tiles that were %s', async (_, statements, said) => {
    const logs = new SealedLogs(service.pool);
    await tampered(statements, async () => {
      await expect(seal(logs, KEYS, { accountId: account, size: SIZE, sealed: 30 })).rejects.toThrow(said);
      expect((await logs.lastCheckpoint(account))?.size).toBe(30);
    });
  });

  it('shows a checkpoint that was signed over tiles that were changed', async () => {
    const changed = 'update log_tiles set hashes = set_byte(hashes, 3, get_byte(hashes, 3) # 1)';
    const faults = await tampered(changed, async () => {
      await sealUnchecked(30, SIZE);
      return faultsOf(service.databaseUrl);
    });
    expect(faults).toEqual(['positions 31 to 40: their events do not make the signed checkpoint of 40 events']);
  });

  it('is not in order for the key of another deployment', async () => {
    const faults = await faultsOf(service.databaseUrl, [newCheckpointKey(KEY.name)]);
    expect(faults).toEqual(SEALED.map((at) => `the checkpoint of ${at} events: its signature is wrong`));
  });
});
