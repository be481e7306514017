import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Sealer } from '../src/api/audit/evidence/sealer.js';
import { Incidents } from '../src/database/incidents.js';
import { KeyHistory, newCheckpointKey, originOf } from '../src/event-log/transparency/seal/checkpoint-key.js';
import { Checkpoints } from '../src/event-log/transparency/seal/checkpoints.js';
import { LogAlarms } from '../src/event-log/transparency/seal/log-alarms.js';
import { seal } from '../src/event-log/transparency/seal/seal.js';
import { SealedLogs } from '../src/event-log/transparency/seal/sealed-logs.js';
import { type Checkpoint, parseCheckpoint } from '../src/event-log/transparency/tree/checkpoint.js';
import { isConsistent, rootOfInclusion } from '../src/event-log/transparency/tree/merkle-tree.js';
import { parseNote, parseVerifier } from '../src/event-log/transparency/tree/signed-note.js';
import { GrowingTree } from '../src/event-log/transparency/tree/tiles.js';
import { leafHash } from '../src/event-log/verify/logged-event.js';
import type { ApiClient } from './support/api-client.js';
import { blocksIn } from './support/documents.js';
import { takeLines } from './support/error-lines.js';
import { addAccount } from './support/principals.js';
import { type Service, startService } from './support/service.js';
import { signingInstance } from './support/signing-instance.js';
import { END_ALARMS, whileTampered } from './support/tampering.js';

const KEY = newCheckpointKey('tunnels.example.com');
const KEYS = new KeyHistory(KEY);
let service: Service;
let account: string;
beforeAll(async () => {
  service = await startService({ checkpointKeys: KEYS });
  account = (await service.pool.query('select account_id from accounts')).rows[0].account_id;
});
afterAll(() => service.stop());

const text = async (client: ApiClient, path: string): Promise<string> => {
  const { status, body } = await client.get(path);
  expect([path, status]).toEqual([path, 200]);
  return body;
};

/** The checkpoint of a note that the account's key has signed. */
async function checkpointIn(note: string, client = service.admin, id = account): Promise<Checkpoint> {
  const key = parseVerifier((await text(client, '/log/key')).trim());
  const parsed = parseNote(note);
  if (key === undefined || parsed === undefined) throw new Error('no key or no note');
  expect([key.name, parsed.isSignedBy(key)]).toEqual([originOf(KEY, id), true]);
  const checkpoint = parseCheckpoint(parsed.text);
  if (checkpoint === undefined) throw new Error('no checkpoint');
  return checkpoint;
}

async function checkpointOf(size: number, client = service.admin, id = account): Promise<Checkpoint> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const { status, body } = await client.get('/log/checkpoint');
    if (status === 200) {
      const checkpoint = await checkpointIn(body, client, id);
      if (checkpoint.size >= size) return checkpoint;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`no checkpoint of ${size} events within 10 s`);
}

const createEdge = async (client = service.admin): Promise<number> => {
  const { status, headers } = await client.post('/edges/tcp', { hostports: [] });
  expect(status).toBe(201);
  return Number(headers.get('log-position'));
};

/** Fills the log of the only account with events that nothing has sealed. */
async function fillLog({ pool }: Service, size: number): Promise<string> {
  await pool.query(
    `insert into events (account_id, position, stream_id, stream_version, event_id, type, data, metadata, occurred_at, recorded_at, leaf_hash)
     select h.account_id, n, 'edgtcp_' || n, 1, gen_random_uuid(), 'tcp_edge_created.v1', '{}', '{"actor":"system"}', now(), now(), sha256(n::text::bytea)
     from log_heads h, generate_series(h.size + 1, $1) n`,
    [size],
  );
  return (await pool.query('update log_heads set size = $1 returning account_id', [size])).rows[0].account_id;
}

describe('the evidence of a log', () => {
  it('has a signed checkpoint of each change a second or so after its answer, and a proof that the change is in it', async () => {
    const position = await createEdge();
    await checkpointOf(position);
    const proof = await text(service.admin, `/log/proof?position=${position}`);
    const [head = '', note = ''] = [proof.slice(0, proof.indexOf('\n\n')), proof.slice(proof.indexOf('\n\n') + 2)];
    const [format, index, ...hashes] = head.split('\n');
    expect([format, index]).toEqual(['c2sp.org/tlog-proof@v1', `index ${position - 1}`]);
    const checkpoint = await checkpointIn(note);
    const { rows } = await service.pool.query('select leaf_hash from events where account_id = $1 and position = $2', [
      account,
      position,
    ]);
    const path = hashes.map((hash) => Buffer.from(hash, 'base64'));
    expect(rootOfInclusion(position - 1, checkpoint.size, rows[0].leaf_hash, path)).toEqual(checkpoint.root);
  });

  it('proves that a checkpoint is the beginning of a later one', async () => {
    const older = await checkpointOf(await createEdge());
    for (let i = 0; i < 4; i += 1) await createEdge();
    const newer = await checkpointOf(older.size + 4);
    const { body } = await service.admin.get(`/log/consistency?from=${older.size}&to=${newer.size}`);
    const proof = (body.proof as string[]).map((hash) => Buffer.from(hash, 'base64'));
    expect(isConsistent(older, newer, proof)).toBe(true);
  });

  it('has the tiles of the tree, of the width that is asked for', async () => {
    const { size } = await checkpointOf(await createEdge());
    const { rows } = await service.pool.query('select leaf_hash from events where account_id = $1 order by position', [
      account,
    ]);
    const leaves = Buffer.concat(rows.map(({ leaf_hash }) => leaf_hash));
    for (const width of [1, size]) {
      const headers = { authorization: `Bearer ${service.admin.token}` };
      const response = await fetch(`${service.admin.url}/log/tile/0/000.p/${width}`, { headers });
      expect(response.headers.get('content-type')).toBe('application/octet-stream');
      expect(Buffer.from(await response.arrayBuffer())).toEqual(leaves.subarray(0, 32 * width));
    }
  });

  it('is that of the caller’s account alone', async () => {
    const other = await addAccount(service);
    await checkpointOf(await createEdge(other.client), other.client, other.accountId);
    expect(await text(other.client, '/log/checkpoint')).toContain(`${KEY.name}/${other.accountId}\n`);
    expect(await text(other.client, '/log/key')).not.toBe(await text(service.admin, '/log/key'));
  });

  it.each([
    ['/log/proof?position=999999', 404],
    ['/log/proof', 400],
    ['/log/proof?position=x', 400],
    ['/log/consistency?from=2&to=1', 400],
    ['/log/consistency?from=1&to=999999', 400],
    ['/log/tile/0/000', 404],
    ['/log/tile/0/000.p/255', 404],
    ['/log/tile/x', 404],
    ['/log/checkpoint?known=abc', 400],
  ])('refuses %s with %i', async (path, status) => {
    await checkpointOf(1);
    expect(await service.admin.get(path)).toMatchObject({ status });
  });

  it('has the bytes of a leaf that docs/evidence.md shows, here and in PostgreSQL', async () => {
    const block = blocksIn('docs/evidence.md').find(({ text }) => text.startsWith('printf'));
    const shown = block?.text.replaceAll(/'\\\n'/g, '').replace('\\0303\\0274', 'ü');
    const event = {
      account_id: `ac_${'0'.repeat(27)}`,
      position: 7,
      stream_id: `bkdtg_${'0'.repeat(26)}7`,
      stream_version: 1,
      event_id: '01234567-89ab-cdef-0123-456789abcdef',
      type: 'tunnel_group_created.v1',
      data: '{"description":"Küche"}',
      metadata: '{"actor":"system"}',
      occurred_at: '2026-01-02T03:04:05.000001Z',
      recorded_at: '2026-01-02T03:04:05.000002Z',
      leaf_hash: '',
    };
    const { rows } = await service.pool.query(
      `select encode(event_leaf_hash($1, $2, $3, $4, $5, $6, $7, $8, $9, $10), 'hex') as hash`,
      Object.values(event).slice(0, 10),
    );
    const bytes = `\0${shown?.split("'")[3]}`;
    const hashes = [leafHash(event), rows[0].hash, hash('sha256', bytes)];
    expect(hashes.map((made) => `${made}  -\n`)).toEqual(Array(3).fill(block?.output));
  });

  it('is one chain where sealers of a long log come to different sizes', async () => {
    const plain = await startService();
    const id = await fillLog(plain, 10_003);
    const logs = new SealedLogs(plain.pool);
    expect(await seal(logs, KEYS, { accountId: id, size: 9990, sealed: 0 })).toBe(9990);
    // It had read the log before the other one sealed it.
    expect(await seal(logs, KEYS, { accountId: id, size: 10003, sealed: 0 })).toBe(0);
    await seal(logs, KEYS, { accountId: id, size: 10003, sealed: 9990 });
    const { rows } = await plain.pool.query('select size::int, note from log_checkpoints order by size');
    expect(rows.map(({ size }) => size)).toEqual([9990, 10003]);
    const { rows: leaves } = await plain.pool.query('select leaf_hash from events order by position');
    const tree = new GrowingTree(0, []);
    for (const { leaf_hash } of leaves) tree.add(leaf_hash);
    expect(parseCheckpoint(rows[1].note)?.root).toEqual(tree.root());
    await plain.stop();
  });

  it('that cannot be made is an error of the log once, and its end is a line of info', async () => {
    const plain = await startService();
    const { look } = signingInstance(plain.pool, KEYS);
    await look();
    const log = takeLines();
    const said = () =>
      log.lines().flatMap(({ level, fields, message }) => (fields.context === 'Sealer' ? [`${level} ${message}`] : []));
    await plain.pool.query('alter table log_tiles rename to log_tiles_away');
    await createEdge(plain.admin);
    for (let n = 0; n < 2; n += 1) await look();
    const about = 'the log of ac_\\w+';
    expect(said().toSorted()).toEqual([
      expect.stringMatching(`^error ${about} cannot be sealed: `),
      expect.stringMatching('^error what was signed cannot be compared now; trying again: '),
    ]);
    await plain.pool.query('alter table log_tiles_away rename to log_tiles');
    await look();
    expect(said().slice(2).toSorted()).toEqual([
      expect.stringMatching(`^info ${about} is sealed again$`),
      'info what was signed can be compared again',
    ]);
    log.end();
    await plain.stop();
  });

  it('is signed no further while a tile away from its edge is damaged, which no tile route sends', async () => {
    const plain = await startService();
    const id = await fillLog(plain, 700);
    const logs = new SealedLogs(plain.pool);
    await seal(logs, KEYS, { accountId: id, size: 700, sealed: 0 });
    const { look, said, evidence } = signingInstance(plain.pool, KEYS);
    const paths = ['0/000', '0/001', '0/001.p/7', '0/002.p/188', '1/000.p/1', '1/000.p/2'];
    const refused = async () =>
      (await Promise.allSettled(paths.map((path) => evidence.tile(id, path)))).flatMap((answer, n) =>
        answer.status === 'rejected' ? [[paths[n], answer.reason.problem]] : [],
      );
    expect(await refused()).toEqual([]);
    const damage = `update log_tiles set hashes = overlay(hashes placing '\\xdeadbeef' from 33) where level = 0 and index = 1`;
    await whileTampered(plain.databaseUrl, damage, async () => {
      expect(await refused()).toEqual([
        ['0/001', 'overloaded'],
        ['0/001.p/7', 'overloaded'],
      ]);
      await createEdge(plain.admin);
      for (let n = 0; n < 2; n += 1) await look();
      expect((await logs.lastCheckpoint(id))?.size).toBe(700);
    });
    expect(said).toEqual([expect.stringMatching(/^ALARM.* tiles? (over the tile 0\/001|of level 0)/)]);
    await plain.pool.query(END_ALARMS);
    await createEdge(plain.admin);
    await look();
    expect((await logs.lastCheckpoint(id))?.size).toBe(701);
    await plain.stop();
  });

  it('is made no further than the checkpoint at hand once the instance stops', async () => {
    const plain = await startService();
    await fillLog(plain, 30_003);
    const logs = new SealedLogs(plain.pool);
    const sealer = new Sealer(
      logs,
      new Checkpoints(KEYS, new LogAlarms(plain.pool)),
      new Incidents(plain.pool, console),
    );
    const sizes = async (): Promise<number[]> => {
      const { rows } = await plain.pool.query('select size::int from log_checkpoints order by size');
      return rows.map(({ size }) => size);
    };
    const stopping = new Promise<void>((resolve) => {
      const sealOne = logs.seal.bind(logs);
      logs.seal = (...checkpoint) => {
        sealer.onModuleDestroy();
        resolve();
        return sealOne(...checkpoint);
      };
    });
    sealer.onApplicationBootstrap();
    await stopping;
    await sealer.onApplicationShutdown();
    expect(await sizes()).toEqual([10_000]);
    const { logs: states } = await logs.states('');
    for (const log of states) await seal(logs, KEYS, log);
    expect(await sizes()).toEqual([10_000, 20_000, 30_000, 30_003]);
    await plain.stop();
  });

  it('is one chain, whichever of several sealers wins, and however far each has read', async () => {
    const plain = await startService();
    const logs = new SealedLogs(plain.pool);
    for (let round = 0; round < 5; round += 1) {
      for (let i = 0; i < 3; i += 1) await createEdge(plain.admin);
      const {
        logs: [log],
      } = await logs.states('');
      if (log === undefined) throw new Error('nothing to seal');
      const sizes = [log.size, log.size - 1, log.size];
      await Promise.all(sizes.map((size) => seal(logs, KEYS, { ...log, size })));
    }
    const { rows } = await plain.pool.query('select size::int, follows::int from log_checkpoints order by size');
    expect(rows.map(({ follows }) => follows)).toEqual([0, ...rows.slice(0, -1).map(({ size }) => size)]);
    const { rows: tiles } = await plain.pool.query('select hashes from log_tiles where level = 0 order by index');
    const { rows: leaves } = await plain.pool.query(
      `select leaf_hash from events order by position limit ${rows.at(-1)?.size}`,
    );
    expect(Buffer.concat(tiles.map(({ hashes }) => hashes))).toEqual(
      Buffer.concat(leaves.map(({ leaf_hash }) => leaf_hash)),
    );
    expect((await plain.admin.get('/log/checkpoint')).body.msg).toMatch(/^Checkpoints are off/);
    await plain.stop();
  });
});
