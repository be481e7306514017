import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type Database, openDatabase } from '../src/database/database.js';
import { exportQuery } from '../src/event-log/transfer/log-file.js';
import { faultsOf, provenOf } from './support/found.js';
import { imported } from './support/imported.js';
import { newPublicKey } from './support/keys.js';
import { cloneDatabase, type Service, startService, type TestDatabase } from './support/service.js';

/** Writes the leaf hashes anew, as someone who edits events would. */
const HASH_ANEW = `update events set leaf_hash = event_leaf_hash(account_id, position, stream_id, stream_version, event_id,
  type, data, metadata, occurred_at, recorded_at)`;
const last = (type: string): string => `position = (select max(position) from events where type = '${type}')`;
const swap = (a: string, b: string): string => `
  with two as (select position, sum(position) over () - position as other from events where ${a} or ${b})
  update events e set position = -two.other from two where e.position = two.position;
  update events set position = -position where position < 0`;

/** What someone does to the log as a superuser, what `audit verify` and a proof say of it, and whether an export shows it. */
const TAMPERINGS: readonly (readonly [what: string, sql: string, said: RegExp, isInExport: boolean])[] = [
  [
    'data that was edited',
    `update events set data = replace(data, 'before', 'after') where ${last('ssh_credential_created.v1')}`,
    /^position \d+: its leaf_hash is not the hash of the event$/,
    true,
  ],
  [
    'an edit under a replaced function for hashes',
    `create or replace function event_leaf_hash(account_id text, event_position bigint, stream_id text, stream_version int,
       event_id uuid, type text, data text, metadata text, occurred_at timestamptz, recorded_at timestamptz)
       returns bytea language sql as $$ select sha256('anything') $$; ${HASH_ANEW}`,
    /^position 1: its leaf_hash is not the hash of the event$/,
    true,
  ],
  [
    'metadata that is not JSON, hashed anew',
    `drop index events_actor; update events set metadata = 'x' where ${last('ssh_credential_created.v1')}; ${HASH_ANEW}`,
    /^position \d+: metadata is not a JSON object that names an actor$/,
    true,
  ],
  [
    'data that is not JSON, hashed anew',
    `update events set data = '{' where ${last('ssh_credential_created.v1')}; ${HASH_ANEW}`,
    /^position \d+: data is not a JSON object as the service writes it$/,
    true,
  ],
  [
    'an infinite time of an occurrence',
    `update events set occurred_at = 'infinity' where position = (select max(position) from events)`,
    /^position \d+: occurred_at is not a time as export writes it$/,
    true,
  ],
  [
    'an infinite time',
    `update events set recorded_at = 'infinity' where position = (select max(position) from events)`,
    /^position \d+: recorded_at is not a time as export writes it$/,
    true,
  ],
  [
    'two events of different streams that were swapped, hashed anew',
    `${swap(last('tcp_edge_created.v1'), last('ssh_credential_created.v1'))}; ${HASH_ANEW}`,
    /^position \d+: recorded_at is not later than that of the previous event$/,
    true,
  ],
  [
    'two events of one stream that were swapped with their times, hashed anew',
    `${swap(last('ssh_credential_created.v1'), last('ssh_credential_updated.v1'))};
     update events set recorded_at = '2026-01-01'::timestamptz + position * interval '1 s'; ${HASH_ANEW}`,
    /^position \d+: its stream_version does not follow the previous one of its stream$/,
    true,
  ],
  [
    'an update after the deletion, hashed anew',
    `insert into events select account_id, size + 1, stream_id, stream_version + 1, gen_random_uuid(),
       'ssh_credential_updated.v1', '{"description":"back"}', metadata, now(), now(), leaf_hash
       from events join log_heads using (account_id) where ${last('ssh_credential_deleted.v1')};
     update log_heads set size = size + 1; ${HASH_ANEW}`,
    /^position \d+: an event of type ssh_credential_updated\.v1 comes after the deletion of its stream$/,
    true,
  ],
  [
    'a stream without its creation, renumbered and hashed anew',
    `update events set type = 'ssh_credential_updated.v1' where ${last('ssh_credential_created.v1')}; ${HASH_ANEW}`,
    /^position \d+: its stream begins with an event of type ssh_credential_updated\.v1$/,
    true,
  ],
  [
    'a second creation, hashed anew',
    `update events set type = 'ssh_credential_created.v1' where ${last('ssh_credential_updated.v1')}; ${HASH_ANEW}`,
    /^position \d+: a second event of type ssh_credential_created\.v1 in its stream$/,
    true,
  ],
  [
    'an event of an unknown type, hashed anew',
    `update events set type = 'ssh_credential_blessed.v1' where ${last('ssh_credential_updated.v1')}; ${HASH_ANEW}`,
    /^position \d+: this version of the service does not know events of type ssh_credential_blessed\.v1 in stream sshcr_\w+$/,
    true,
  ],
  [
    'an event that was removed from the middle',
    `delete from events where ${last('ssh_credential_deleted.v1')}`,
    /^position \d+: missing$/,
    true,
  ],
  [
    'a tail that was removed',
    `delete from events where position > (select size - 2 from log_heads)`,
    /^positions \d+ to \d+: missing$/,
    false,
  ],
];

let service: Service;
beforeAll(async () => {
  service = await startService();
  const created = await service.admin.post('/ssh_credentials', { public_key: newPublicKey(), description: 'gone' });
  await service.admin.delete(`/ssh_credentials/${created.body.id}`);
  await service.admin.post('/edges/tcp', { hostports: ['a.example:1'] });
  const { body } = await service.admin.post('/ssh_credentials', { public_key: newPublicKey(), description: 'before' });
  await service.admin.patch(`/ssh_credentials/${body.id}`, { description: 'now' });
  await service.admin.post('/edges/tcp', { hostports: ['b.example:1'] });
});
afterAll(() => service.stop());

/** What the owner of this database can do with it. */
async function on<T>(databaseUrl: string, work: (sql: pg.Client, database: Database) => Promise<T>): Promise<T> {
  const sql = new pg.Client(databaseUrl);
  await sql.connect();
  const options = { databaseUrl, dataDir: '', databasePoolSize: 1, auditReadConnections: 1 };
  const database = await openDatabase(options, () => undefined);
  try {
    return await work(sql, database);
  } finally {
    await database.close();
    await sql.end();
  }
}

const linesOf = async (client: pg.Client | pg.Pool): Promise<string[]> => {
  const { rows } = await client.query<{ account_id: string }>('select account_id from log_heads');
  const [, select] =
    /^copy \(([\s\S]*)\) to stdout/.exec(exportQuery(rows[0]?.account_id ?? '', { after: 0, upTo: 1e9 })) ?? [];
  return (await client.query<{ concat: string }>(select ?? '')).rows.map(({ concat }) => concat);
};
const importInto = (database: Database, lines: readonly string[]) => imported(database, [lines]);

/** A database with the log of the service, which each test copies, and one without a log. */
let original: TestDatabase;
let empty: TestDatabase;
beforeAll(async () => {
  [original, empty] = [await cloneDatabase(), await cloneDatabase()];
  await on(original.url, async (_sql, database) => importInto(database, await linesOf(service.pool)));
});
afterAll(async () => {
  await original.drop();
  await empty.drop();
});

describe('a log that another program changed', () => {
  it('was in order before', async () => {
    await on(original.url, async (_sql, database) => {
      expect(await faultsOf(database)).toEqual([]);
      expect(await provenOf(database)).toMatchObject({ faults: [], differences: [] });
    });
  });

  it.each(TAMPERINGS)('is told from its original: %s', async (_what, statements, said, isInExport) => {
    const copy = await cloneDatabase(original);
    const exported = await on(copy.url, async (sql, database) => {
      await sql.query(`set session_replication_role = replica; ${statements}`);
      const faults = await faultsOf(database);
      expect(faults).toContainEqual(expect.stringMatching(said));
      expect((await provenOf(database)).faults).toEqual(expect.arrayContaining(faults));
      return linesOf(sql);
    });
    await copy.drop();
    if (!isInExport) return;
    await on(empty.url, (_sql, database) => expect(importInto(database, exported)).rejects.toThrow(/^line \d+: /));
  });
});
