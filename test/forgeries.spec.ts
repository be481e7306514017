import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type Database, openDatabase } from '../src/database/database.js';
import { KeyHistory, newCheckpointKey, originOf, signerOf } from '../src/event-log/transparency/seal/checkpoint-key.js';
import { seal } from '../src/event-log/transparency/seal/seal.js';
import { SealedLogs } from '../src/event-log/transparency/seal/sealed-logs.js';
import { checkpointText } from '../src/event-log/transparency/tree/checkpoint.js';
import { signNote } from '../src/event-log/transparency/tree/signed-note.js';
import { repairTiles } from '../src/event-log/verify/repair-tiles.js';
import { faultsOf, provenOf } from './support/found.js';
import { cloneDatabase, type TestDatabase, testConfig } from './support/service.js';
import { HASH_ANEW, whileTampered } from './support/tampering.js';

const KEY = newCheckpointKey('tunnels.example.com');
const EARLIER = newCheckpointKey('old.example.com');
const KEYS = new KeyHistory(KEY, [EARLIER]);
const [ACCOUNT, OTHER] = ['ac_000000000000000000000000000', 'ac_111111111111111111111111111'];
/** Two full tiles, a third one, and one of the next level; the last 20 events have no checkpoint yet. */
const [SIZE, SEALED] = [620, [256, 300, 600]];

const FILL = `insert into events select $1, n, stream, 1, id, type, data, metadata, at, at,
    event_leaf_hash($1, n, stream, 1, id, type, data, metadata, at, at)
  from (select n, 'bkdtg_' || lpad(n::text, 27, '0') as stream, gen_random_uuid() as id, 'tunnel_group_created.v1' as type,
    '{"description":"before"}' as data, '{"actor":"system"}' as metadata,
    '2026-01-01'::timestamptz + n * interval '1 ms' as at from generate_series(1, $2::int) n) made`;

const AT = (position: number): string => `where account_id = '${ACCOUNT}' and position = ${position}`;
const OF = `where account_id = '${ACCOUNT}'`;
const ANEW = `; ${HASH_ANEW} ${OF}`;
const NOTE = (size: number, key = KEY, account = ACCOUNT, root = Buffer.alloc(32)): string =>
  signNote(checkpointText({ origin: originOf(key, account), size, root }), signerOf(key, account));
const BEYOND = (size: number, note: string): string =>
  `insert into log_checkpoints (account_id, size, follows, note) values ('${ACCOUNT}', ${size}, 600, '${note}')`;
const TILE = (level: number, index: number): string => `${OF} and level = ${level} and index = ${index}`;
const DAMAGED = (level: number, index: number): string =>
  `update log_tiles set hashes = overlay(hashes placing '\\xdeadbeef' from 33) ${TILE(level, index)}`;
const SWAP = `update events set position = -position ${OF} and position in (100, 101);
  update events set position = 201 + position ${OF} and position < 0`;

/** A further event of the stream of position 100. */
const MORE = (position: number, version: number, what: string): string =>
  `insert into events select account_id, ${position}, stream_id, ${version}, gen_random_uuid(), 'tunnel_group_${what}.v1', data, metadata, now() + interval '${position} s', now() + interval '${position} s', leaf_hash from events ${AT(100)}`;

const NOT_THE_HASH = /^position 100: its leaf_hash is not the hash of the event$/;
const NOT_SIGNED = /^position 100: is not the event that was signed/;
const TILES = /^the stored tiles are not those that the events make: audit repair-tiles/;

/** What a superuser does, and what `audit verify` says of it. */
const FOUND: readonly (readonly [what: string, sql: string, said: RegExp])[] = [
  [
    'account_id edited',
    `update events set account_id = '${OTHER}', position = 21 ${AT(100)}`,
    /^position 100: missing$/,
  ],
  [
    'position edited',
    `update events set position = 700 ${AT(100)}`,
    /^position 700: outside the log, whose head is at 620$/,
  ],
  ['position edited to none', `update events set position = 0 ${AT(100)}`, /^position 0: outside the log/],
  ['stream_id edited', `update events set stream_id = 'bkdtg_' || repeat('x', 27) ${AT(100)}`, NOT_THE_HASH],
  ['stream_version edited', `update events set stream_version = 2 ${AT(100)}`, NOT_THE_HASH],
  ['event_id edited', `update events set event_id = gen_random_uuid() ${AT(100)}`, NOT_THE_HASH],
  ['type edited', `update events set type = 'tunnel_group_updated.v1' ${AT(100)}`, NOT_THE_HASH],
  ['data edited', `update events set data = '{"description":"after"}' ${AT(100)}`, NOT_THE_HASH],
  ['metadata edited', `update events set metadata = '{"actor":"other"}' ${AT(100)}`, NOT_THE_HASH],
  ['occurred_at edited', `update events set occurred_at = occurred_at - interval '1 h' ${AT(100)}`, NOT_THE_HASH],
  ['recorded_at edited', `update events set recorded_at = recorded_at + interval '1 us' ${AT(100)}`, NOT_THE_HASH],
  ['leaf_hash edited', `update events set leaf_hash = sha256('x') ${AT(100)}`, NOT_THE_HASH],
  [
    'leaf_hash cut',
    `update events set leaf_hash = '\\x00' ${AT(100)}`,
    /^position 100: leaf_hash is not a SHA-256 in hex$/,
  ],
  [
    'stream_version edited, hashed anew',
    `update events set stream_version = 2 ${AT(100)}${ANEW}`,
    /^position 100: its stream_version does not follow/,
  ],
  [
    'type edited, hashed anew',
    `update events set type = 'tunnel_group_updated.v1' ${AT(100)}${ANEW}`,
    /^position 100: its stream begins with/,
  ],
  ['data edited, hashed anew', `update events set data = '{"description":"after"}' ${AT(100)}${ANEW}`, NOT_SIGNED],
  [
    'data edited in the middle of two checkpoints',
    `update events set data = '{}' ${AT(400)}${ANEW}`,
    /^position 400: is not the event that was signed/,
  ],
  [
    'data edited, hashed anew, with its tile',
    `update events set data = '{}' ${AT(100)}${ANEW}; update log_tiles set hashes = overlay(hashes placing (select leaf_hash from events ${AT(100)}) from 32 * 99 + 1) ${TILE(0, 0)}`,
    /^positions 1 to 256: their events do not make the signed checkpoint of 256 events$/,
  ],
  ['the first event deleted', `delete from events ${AT(1)}`, /^position 1: missing$/],
  ['a middle event deleted', `delete from events ${AT(100)}`, /^position 100: missing$/],
  ['the last event deleted', `delete from events ${AT(SIZE)}`, /^position 620: missing$/],
  [
    'a middle event deleted, the others renumbered and hashed anew',
    `delete from events ${AT(100)}; update events set position = -position ${OF} and position > 100; update events set position = -position - 1 ${OF} and position < 0; update log_heads set size = size - 1 ${OF}${ANEW}`,
    NOT_SIGNED,
  ],
  [
    'signed events deleted, with the head set back',
    `delete from events ${OF} and position > 500; update log_heads set size = 500 ${OF}`,
    /^the log has 500 events, but a checkpoint of 600 was signed: its tail is lost$/,
  ],
  ['all events deleted', `delete from events ${OF}`, /^positions 1 to 620: missing$/],
  [
    'events and head deleted',
    `delete from events ${OF}; delete from log_heads ${OF}`,
    /^the log has 0 events, but a checkpoint of 600 was signed/,
  ],
  ['two events swapped', `${SWAP}`, /^position 100: its leaf_hash is not the hash of the event$/],
  ['two events swapped, hashed anew', `${SWAP}${ANEW}`, NOT_SIGNED],
  [
    'an event twice',
    `insert into events select account_id, 621, stream_id, 2, gen_random_uuid(), type, data, metadata, now(), now(), leaf_hash from events ${AT(100)}; update log_heads set size = 621 ${OF}${ANEW}`,
    /^position 621: a second event of type tunnel_group_created\.v1 in its stream$/,
  ],
  [
    'an event after the deletion of its stream',
    `${MORE(621, 2, 'deleted')}; ${MORE(622, 3, 'updated')}; update log_heads set size = 622 ${OF}${ANEW}`,
    /^position 622: an event of type tunnel_group_updated\.v1 comes after the deletion of its stream$/,
  ],
  [
    'two events of one stream in another order',
    `update events set stream_version = 2 ${AT(100)}; ${MORE(621, 1, 'updated')}; update log_heads set size = 621 ${OF}${ANEW}`,
    /^position \d+: its stream_version does not follow/,
  ],
  [
    'an unknown type, hashed anew',
    `update events set type = 'tunnel_group_blessed.v1' ${AT(100)}${ANEW}`,
    /^position 100: this version of the service does not know events of type tunnel_group_blessed\.v1 in stream bkdtg_/,
  ],
  [
    'an infinite time of an occurrence',
    `update events set occurred_at = 'infinity' ${AT(SIZE)}`,
    /^position 620: occurred_at is not a time as export writes it$/,
  ],
  [
    'an infinite time',
    `update events set recorded_at = 'infinity' ${AT(SIZE)}`,
    /^position 620: recorded_at is not a time as export writes it$/,
  ],
  [
    'an event inserted between, the others renumbered',
    `update events set position = -position ${OF} and position >= 100; insert into events select account_id, 100, 'bkdtg_' || repeat('x', 27), 1, gen_random_uuid(), type, data, metadata, occurred_at, recorded_at + interval '1 us', leaf_hash from events ${AT(99)}; update events set position = 1 - position ${OF} and position < 0; update log_heads set size = 621 ${OF}${ANEW}`,
    NOT_SIGNED,
  ],
  ['the head set ahead', `update log_heads set size = 630 ${OF}`, /^positions 621 to 630: missing$/],
  [
    'the head set back',
    `update log_heads set size = 610 ${OF}`,
    /^position 611: outside the log, whose head is at 610$/,
  ],
  ['the head deleted', `delete from log_heads ${OF}`, /^position 1: outside the log, whose head is at 0$/],
  [
    'the root of a checkpoint edited',
    `update log_checkpoints set note = regexp_replace(note, '\\n300\\n.{43}=', e'\\n300\\n${'A'.repeat(43)}=') ${OF} and size = 300`,
    /^the checkpoint of 300 events: its signature is wrong$/,
  ],
  [
    'the signature of a checkpoint edited',
    `update log_checkpoints set note = left(note, -20) || repeat('A', 17) || right(note, 3) ${OF} and size = 300`,
    /^the checkpoint of 300 events: its signature is wrong$/,
  ],
  [
    'a checkpoint that is no note',
    `update log_checkpoints set note = 'x' ${OF} and size = 300`,
    /^the checkpoint of 300 events: its signature is wrong$/,
  ],
  [
    'the size of a checkpoint edited',
    `update log_checkpoints set size = 299 ${OF} and size = 300`,
    /^the checkpoint of 299 events: its signature is wrong$/,
  ],
  [
    'what a checkpoint follows edited',
    `update log_checkpoints set follows = 255 ${OF} and size = 300`,
    /^the checkpoint of 300 events follows one of 255 events, which is missing$/,
  ],
  [
    'a middle checkpoint deleted',
    `delete from log_checkpoints ${OF} and size = 300`,
    /^the checkpoint of 600 events follows one of 300 events, which is missing$/,
  ],
  ['the last checkpoint deleted', `delete from log_checkpoints ${OF} and size = 600`, TILES],
  [
    'a checkpoint of another account',
    `update log_checkpoints set note = (select note from log_checkpoints where account_id = '${OTHER}') ${OF} and size = 300`,
    /^the checkpoint of 300 events: its signature is wrong$/,
  ],
  [
    'a checkpoint that another key signed',
    BEYOND(610, NOTE(610, newCheckpointKey(KEY.name))),
    /^the checkpoint of 610 events: its signature is wrong$/,
  ],
  [
    'a checkpoint of another root that this key signed',
    BEYOND(610, NOTE(610)),
    /^positions 601 to 610: their events do not make the signed checkpoint of 610 events$/,
  ],
  [
    'a checkpoint that an earlier key signed after its successor',
    BEYOND(610, NOTE(610, EARLIER)),
    /^the checkpoint of 610 events: signed by old\.example\.com\/ac_0+ after a checkpoint of tunnels\.example\.com\/ac_0+$/,
  ],
  [
    'a checkpoint beyond the head that an earlier key signed after its successor',
    BEYOND(700, NOTE(700, EARLIER)),
    /^the checkpoint of 700 events: signed by old\.example\.com/,
  ],
  [
    'a checkpoint beyond the head that another key signed',
    BEYOND(700, NOTE(700, newCheckpointKey(KEY.name))),
    /^the checkpoint of 700 events: its signature is wrong$/,
  ],
  [
    'a checkpoint beyond the head that this key signed',
    BEYOND(700, NOTE(700)),
    /^the log has 620 events, but a checkpoint of 700 was signed: its tail is lost$/,
  ],
  [
    'a checkpoint and a head that claim more events than can be',
    `${BEYOND(3_000_000_000, 'x')}; update log_heads set size = 3000000000 ${OF}`,
    /^positions 621 to 3000000000 are missing, so no later checkpoint can be compared$/,
  ],
  ['a full tile damaged', DAMAGED(0, 1), TILES],
  ['the tile at the edge damaged', DAMAGED(0, 2), TILES],
  ['a tile of level 1 damaged', DAMAGED(1, 0), TILES],
  ['a tile cut', `update log_tiles set hashes = substr(hashes, 1, 100) ${TILE(0, 2)}`, TILES],
  ['a tile missing', `delete from log_tiles ${TILE(0, 0)}`, TILES],
  ['a surplus tile', `insert into log_tiles values ('${ACCOUNT}', 2, 0, sha256('x'))`, TILES],
  [
    'a tile of an account without a log',
    `insert into log_tiles values ('ac_${'2'.repeat(27)}', 0, 0, sha256('x'))`,
    TILES,
  ],
];

/** What it cannot find, and why. */
const NOT_FOUND: readonly (readonly [what: string, sql: string, why: string])[] = [
  [
    'an event edited and hashed anew that no checkpoint has yet',
    `update events set data = '{}' ${AT(610)}${ANEW}`,
    'nothing has signed it; the next second does',
  ],
  [
    'unsigned events deleted, with the head set back',
    `delete from events ${OF} and position > 610; update log_heads set size = 610 ${OF}`,
    'nothing has signed them',
  ],
  [
    'an event of the forger at the end',
    `insert into events select account_id, 621, 'bkdtg_' || repeat('x', 27), 1, gen_random_uuid(), type, data, metadata, now(), now(), leaf_hash from events ${AT(100)}; update log_heads set size = 621 ${OF}${ANEW}`,
    'it is an event like any other: the log shows it',
  ],
  [
    'a log that is gone with its checkpoints and tiles',
    `${['events', 'log_heads', 'log_checkpoints', 'log_tiles'].map((table) => `delete from ${table} ${OF}`).join('; ')}`,
    'nothing here tells of it; a checkpoint that was kept elsewhere does',
  ],
  [
    'a log taken back to an earlier checkpoint, with its tiles',
    `delete from events ${OF} and position > 256; update log_heads set size = 256 ${OF}; delete from log_checkpoints ${OF} and size > 256; delete from log_tiles ${TILE(0, 1)}; delete from log_tiles ${TILE(0, 2)}; update log_tiles set hashes = substr(hashes, 1, 32) ${TILE(1, 0)}`,
    'it was so once; a checkpoint that was kept elsewhere tells',
  ],
  [
    'an alarm removed',
    `insert into log_alarms (account_id, loss, signed, mark, what) values ('${ACCOUNT}', 'tail', 700, '', 'x'); delete from log_alarms`,
    'nothing here tells of it; what raised it raises it again',
  ],
  ['sealed_at edited', `update log_checkpoints set sealed_at = now() ${OF}`, 'it is not signed, and nothing reads it'],
  [
    'transaction_id edited',
    `update events set transaction_id = '1' ${AT(100)}`,
    'it belongs to one server, and is in no export',
  ],
  [
    'recorded_at of the head edited',
    `update log_heads set recorded_at = now() ${OF}`,
    'it only sets the least time of the next event',
  ],
  [
    'rights_position of the head edited',
    `update log_heads set rights_position = 0 ${OF}`,
    'it only tells appends under way of rights that were taken',
  ],
];

let copy: TestDatabase;
let database: Database;
let sql: pg.Client;
beforeAll(async () => {
  copy = await cloneDatabase();
  database = await openDatabase(testConfig(copy.url), () => undefined);
  sql = new pg.Client(copy.url);
  await sql.connect();
  for (const [account, size] of [
    [ACCOUNT, SIZE],
    [OTHER, 20],
  ] as const) {
    await sql.query(FILL, [account, size]);
    await sql.query('insert into log_heads (account_id, size, recorded_at) values ($1, $2, now())', [account, size]);
  }
  const logs = new SealedLogs(database.pool);
  for (const [i, size] of SEALED.entries())
    await seal(logs, KEYS, { accountId: ACCOUNT, size, sealed: SEALED[i - 1] ?? 0 });
  await seal(logs, KEYS, { accountId: OTHER, size: 20, sealed: 0 });
});
afterAll(async () => {
  await database.close();
  await sql.end();
  await copy.drop();
});

const keysOf = (account: string) => KEYS.known.map((key) => signerOf(key, account));

const forged = <T>(statements: string, work: () => Promise<T>): Promise<T> => whileTampered(copy.url, statements, work);

describe('audit verify', () => {
  it('finds nothing where nobody has forged anything', async () => {
    expect(await faultsOf(database, keysOf)).toEqual([]);
  });

  it.each(FOUND)('finds %s', async (_, statements, said) => {
    const faults = await forged(statements, () => faultsOf(database, keysOf));
    expect(faults).toContainEqual(expect.stringMatching(said));
  });

  it('names each event that was edited and hashed anew, and nothing else, as a proof does', async () => {
    const said = [100, 400].map((position) =>
      expect.stringMatching(`^position ${position}: is not the event that was`),
    );
    await forged(`update events set data = '{}' ${OF} and position in (100, 400)${ANEW}`, async () => {
      expect(await faultsOf(database, keysOf)).toEqual(said);
      expect((await provenOf(database, { keysOf })).faults).toEqual(expect.arrayContaining(said));
    });
  });

  it('computes the hashes itself, whatever the function of the database makes of them', async () => {
    const made = `select pg_get_functiondef('event_leaf_hash'::regproc) as sql`;
    const [{ sql: definition }] = (await sql.query(made)).rows;
    const replaced = definition.replace(/AS \$function\$[\s\S]*$/, () => `AS $$ select sha256('anything') $$`);
    const faults = await forged(`${replaced}${ANEW}`, () => faultsOf(database, keysOf));
    await sql.query(definition);
    expect(faults).toContain('position 1: its leaf_hash is not the hash of the event');
  });

  it('accepts no checkpoint of the key of another deployment', async () => {
    const other = newCheckpointKey(KEY.name);
    const faults = await faultsOf(database, (account) => [signerOf(other, account)]);
    for (const size of SEALED) expect(faults).toContain(`the checkpoint of ${size} events: its signature is wrong`);
  });

  it.each(NOT_FOUND)('cannot find %s', async (_, statements, why) => {
    expect([why, await forged(statements, () => faultsOf(database, keysOf))]).toEqual([why, []]);
  });
});

const LOGS = `select json_agg(t order by account_id, level, index) as tiles from log_tiles t`;

const repaired = async () => (await repairTiles(database, ACCOUNT, keysOf))[0]?.refusal;

describe('audit repair-tiles', () => {
  it.each([
    ['damaged', `${DAMAGED(0, 0)}; ${DAMAGED(0, 2)}; ${DAMAGED(1, 0)}`],
    ['missing', `delete from log_tiles ${OF}`],
    [
      'cut and surplus',
      `update log_tiles set hashes = substr(hashes, 1, 40) ${TILE(0, 1)}; insert into log_tiles values ('${ACCOUNT}', 5, 0, '')`,
    ],
    ['as they should be', 'select'],
  ])('makes tiles that are %s as they were, and leaves the guard in force', async (_, statements) => {
    const before = (await sql.query(LOGS)).rows;
    await forged(statements, async () => {
      expect(await repaired()).toBeUndefined();
      expect((await sql.query(LOGS)).rows).toEqual(before);
      expect(await faultsOf(database, keysOf)).toEqual([]);
    });
  });

  it.each([
    [
      'events make another checkpoint',
      `update events set data = '{}' ${AT(100)}${ANEW}`,
      'its events do not make the signed checkpoint of 600 events',
    ],
    ['an event is missing', `delete from events ${AT(400)}`, 'an event of the positions 1 to 600 is missing'],
    [
      'newest checkpoint has a wrong signature',
      `update log_checkpoints set note = 'x' ${OF} and size = 600`,
      'no known key has signed its newest checkpoint, which is of 600 events',
    ],
  ])('leaves the tiles as they are where %s', async (_, statements, said) => {
    await forged(`${DAMAGED(0, 0)}; ${statements}`, async () => {
      const before = (await sql.query(LOGS)).rows;
      expect(await repaired()).toBe(said);
      expect((await sql.query(LOGS)).rows).toEqual(before);
    });
  });
});

describe('a log', () => {
  it.each([
    ['damaged', DAMAGED(0, 2), 'do not make its'],
    ['missing', `delete from log_tiles ${OF}`, 'missing or cut'],
  ])('is signed no further over tiles that are %s', async (_, statements, said) => {
    await forged(statements, async () => {
      const logs = new SealedLogs(database.pool);
      await expect(seal(logs, KEYS, { accountId: ACCOUNT, size: SIZE, sealed: 600 })).rejects.toThrow(said);
      expect((await logs.lastCheckpoint(ACCOUNT))?.size).toBe(600);
    });
  });
});

describe('the guard of the alarms', () => {
  const RAISED = `insert into log_alarms (account_id, loss, signed, mark, what) values ('${ACCOUNT}', 'tail', 700, '', 'x')`;
  const END = `update log_alarms set ended_at = now(), reason = 'y'`;

  it.each([
    ['a deletion', 'delete from log_alarms', 'DELETE'],
    ['a truncation', 'truncate log_alarms', 'TRUNCATE'],
    ['another text', `update log_alarms set what = 'y'`, 'UPDATE'],
    ['another text at its end', `${END}, what = 'y'`, 'UPDATE'],
    ['a second end', `${END}; ${END}`, 'UPDATE'],
    ['that it is open again', `${END}; update log_alarms set ended_at = null, reason = null`, 'UPDATE'],
  ])('refuses %s', async (_, statement, operation) => {
    await sql.query(`begin; ${RAISED}`);
    await expect(sql.query(statement)).rejects.toThrow(`an alarm can only be ended: ${operation} refused`);
    await sql.query('rollback');
  });

  it('lets an alarm end, with a reason alone', async () => {
    await sql.query(`begin; ${RAISED}; savepoint raised`);
    await expect(sql.query('update log_alarms set ended_at = now()')).rejects.toThrow('log_alarms_end');
    await sql.query(`rollback to raised; ${END}; rollback`);
  });
});

describe('the guard of the tiles', () => {
  it.each([
    ['a deletion', 'delete from log_tiles', 'DELETE'],
    ['a truncation', 'truncate log_tiles', 'TRUNCATE'],
    ['another hash', DAMAGED(0, 1), 'UPDATE'],
    ['a cut', 'update log_tiles set hashes = substr(hashes, 1, 32)', 'UPDATE'],
    ['another place', 'update log_tiles set index = index + 100', 'UPDATE'],
  ])('refuses %s', async (_, statement, operation) => {
    await expect(sql.query(statement)).rejects.toThrow(`log_tiles only grows: ${operation} refused`);
  });

  it('lets a tile grow', async () => {
    await sql.query(`begin; update log_tiles set hashes = hashes || sha256('x') ${TILE(0, 2)}; rollback`);
  });
});
