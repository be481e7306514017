import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, getPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { type RebuildWatcher, rebuild } from '../../src/log/rebuild/rebuild.js';
import { MAX_EVENTS_IN_SWAP } from '../../src/log/rebuild/swap.js';
import { READ_MODELS } from '../../src/read-models.js';
import { provenOf } from '../support/found.js';
import { newPublicKey } from '../support/keys.js';
import { type Service, startService } from '../support/service.js';

let service: Service;
beforeAll(async () => {
  service = await startService();
  for (let i = 0; i < 20; i += 1) await service.admin.post('/edges/tcp', { hostports: [`h${i}.example:1`] });
});
afterAll(() => service.stop());

const CLIENTS = 4;

/**
 * Starts clients that write and read back as fast as they can. `stop` resolves with their rounds, or throws the first
 * failure.
 */
function startLoad(): { stop: () => Promise<number> } {
  let isOver = false;
  const clients = Array.from({ length: CLIENTS }, async () => {
    let rounds = 0;
    for (; !isOver; rounds += 1) await writeAndRead();
    return rounds;
  });
  return {
    stop: async () => {
      isOver = true;
      return (await Promise.all(clients)).reduce((sum, rounds) => sum + rounds, 0);
    },
  };
}

async function writeAndRead(): Promise<void> {
  const { admin } = service;
  const made = await admin.post('/ssh_credentials', { public_key: newPublicKey() });
  expect(made.status).toBe(201);
  const path = `/ssh_credentials/${made.body.id}`;
  expect((await admin.get(path)).body).toEqual(made.body);
  expect((await admin.patch(path, { description: 'changed' })).status).toBe(200);
  const edge = await admin.post('/edges/tcp', { hostports: ['shared.example:1'] });
  expect(edge.status).toBe(201);
  expect((await admin.get('/edges/tcp?limit=5')).status).toBe(200);
  if (Math.random() < 0.5) expect((await admin.delete(path)).status).toBe(204);
}

/** Adds events to an edge's stream in one statement, equal to the events of as many changes. */
async function grow(id: string, events: number, client: pg.Pool | pg.PoolClient = service.pool): Promise<void> {
  await client.query(
    `with head as (update log_heads h set size = size + $2, recorded_at = h.recorded_at + $2 * interval '1 microsecond'
       from events e where e.stream_id = $1 and h.account_id = e.account_id and e.stream_version = 1
       returning h.account_id, h.size - $2 as base, h.recorded_at),
     made as (insert into events select account_id, base + n, $1, n + 1, gen_random_uuid(), 'tcp_edge_updated.v1',
       '{"description":"grown"}', '{"actor":"system"}', now(), recorded_at - ($2 - n) * interval '1 microsecond', ''
       from head, generate_series(1, $2::int) n)
     update tcp_edges set version = 1 + $2, description = 'grown' where id = $1`,
    [id, events],
  );
}

/** Events that SQL wrote here have no hashes, which the proof names as faults of the log. */
async function expectProven(): Promise<void> {
  expect((await provenOf(service.app.database)).differences).toEqual([]);
}

const only = (prefix: string) => ({
  all: READ_MODELS,
  rebuilt: READ_MODELS.filter(({ streamPrefixes }) => streamPrefixes.includes(prefix)),
});
const [EDGES, CREDENTIALS] = [only('edgtcp'), only('sshcr')];
const MODELS = { all: READ_MODELS, rebuilt: READ_MODELS };
const QUIET: RebuildWatcher = {
  step: () => undefined,
  events: () => undefined,
  waiting: () => undefined,
  swapped: () => undefined,
};

describe('a rebuild while clients write and read', () => {
  it('fails no request and loses no change; the proof agrees during it and after it', async () => {
    const load = startLoad();
    for (let run = 0; run < 2; run += 1) {
      await rebuild(service.app.database, MODELS, QUIET);
      await expectProven();
    }
    expect(await load.stop()).toBeGreaterThan(CLIENTS);
    await expectProven();
  });

  it('can be interrupted at any step without a loss, and run again', async () => {
    const load = startLoad();
    const steps = READ_MODELS.length * 4;
    // A model takes four steps, so a stride of three covers each kind of step.
    for (let at = 1; at <= steps; at += 3) {
      const stop = new AbortController();
      let step = 0;
      const watcher = {
        ...QUIET,
        step: () => {
          step += 1;
          if (step === at) setTimeout(() => stop.abort(), Math.random() * 5);
        },
      };
      const database = { dataSource: service.app.database.dataSource, interrupt: stop.signal };
      await rebuild(database, MODELS, watcher).catch(() => expect(stop.signal.aborted).toBe(true));
      expect(step).toBeGreaterThanOrEqual(at);
    }
    await expectProven();
    await rebuild(service.app.database, MODELS, QUIET);
    await load.stop();
    await expectProven();
  });

  it('ends although a long stream changes constantly', async () => {
    const { body } = await service.admin.post('/edges/tcp', { hostports: ['hot.example:1'] });
    await grow(body.id, 2 * MAX_EVENTS_IN_SWAP);
    let isOver = false;
    const changing = (async () => {
      for (let n = 0; !isOver; n += 1) {
        const { status } = await service.admin.patch(`/edges/tcp/${body.id}`, { description: `changed ${n}` });
        expect(status).toBe(200);
      }
    })();
    const attempts: number[] = [];
    const stop = new AbortController();
    const waiting = (_: string, attempt: number) => attempts.push(attempt) === 20 && stop.abort();
    const database = { dataSource: service.app.database.dataSource, interrupt: stop.signal };
    try {
      await rebuild(database, EDGES, { ...QUIET, waiting });
    } finally {
      isOver = true;
      await changing;
    }
    await expectProven();
  });

  it('misses no append that began before it and ends while it waits for its swap', async () => {
    const { body } = await service.admin.post('/edges/tcp', { hostports: ['slow.example:1'] });
    const writer = await service.pool.connect();
    await writer.query('begin');
    await grow(body.id, 3, writer);
    const waiting = (_: string, attempt: number) => {
      if (attempt === 2) void writer.query('commit').then(() => writer.release());
    };
    await rebuild(service.app.database, EDGES, { ...QUIET, waiting });
    expect((await service.admin.get(`/edges/tcp/${body.id}`)).body.description).toBe('grown');
    await expectProven();
  });

  it('leaves the live tables alone when it lost its lock and another run has begun', async () => {
    const reader = await service.pool.connect();
    await reader.query('begin; select id from ssh_credentials limit 1');
    let second: Promise<void> = Promise.resolve();
    let isSecondAtSwap: (value: unknown) => void = () => undefined;
    const secondAtSwap = new Promise((resolve) => {
      isSecondAtSwap = resolve;
    });
    const loseLock = async (): Promise<void> => {
      await service.pool.query(`select pg_terminate_backend(pid) from pg_locks join pg_stat_activity using (pid)
        where relation = 'tunnel_access_rebuild.running'::regclass order by xact_start limit 1`);
      await sleep(20);
      second = rebuild(service.app.database, CREDENTIALS, { ...QUIET, waiting: isSecondAtSwap });
      second.catch(isSecondAtSwap);
    };
    let isLost = false;
    const first = rebuild(service.app.database, CREDENTIALS, {
      ...QUIET,
      waiting: () => {
        if (!isLost) void loseLock();
        isLost = true;
      },
    });
    const ended = first.then(
      () => 'it went on to the end',
      (error: unknown) => String(error),
    );
    await secondAtSwap;
    const firstEnded = await Promise.race([ended, sleep(3000, 'it goes on')]);
    await reader.query('commit');
    reader.release();
    await Promise.allSettled([first, second]);
    expect(firstEnded).toContain('this rebuild lost its connection, and another one has begun');
    await second;
    await expectProven();
  });

  it('runs at low priority, leaves the service intact when killed, and the next run cleans up', async () => {
    const reader = await service.pool.connect();
    await reader.query('begin; select id from ssh_credentials limit 1');
    const child = startRebuild();
    await untilSwapWaits(child);
    expect(getPriority(child.pid)).toBe(constants.priority.PRIORITY_BELOW_NORMAL);
    child.kill('SIGKILL');
    await once(child, 'close');
    await reader.query('commit');
    reader.release();
    await writeAndRead();
    await expectProven();
    await rebuild(service.app.database, MODELS, QUIET);
    const { rows } = await service.pool.query(
      `select tablename from pg_tables where schemaname in ('tunnel_access_rebuild', 'tunnel_access_replaced')`,
    );
    expect(rows).toEqual([{ tablename: 'running' }]);
    await writeAndRead();
    await expectProven();
  });

  it('exits cleanly on SIGINT', async () => {
    const reader = await service.pool.connect();
    await reader.query('begin; select id from ssh_credentials limit 1');
    const child = startRebuild();
    let stderr = '';
    child.stderr?.on('data', (data) => {
      stderr += data;
    });
    await untilSwapWaits(child);
    child.kill('SIGINT');
    expect(await once(child, 'close')).toEqual([130, null]);
    expect(stderr).toMatch(/^interrupted; /);
    await reader.query('commit');
    reader.release();
    await writeAndRead();
    await expectProven();
  });
});

function startRebuild(): ChildProcess {
  const cli = new URL('../../dist/src/cli/cli.js', import.meta.url).pathname;
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, DATABASE_URL: service.databaseUrl };
  return spawn(process.execPath, [cli, 'projections', 'rebuild', '--name', 'ssh_credentials'], { env });
}

/** Resolves once the shadow has its indexes; from then on the rebuild retries its swap. */
async function untilSwapWaits(rebuilding: ChildProcess): Promise<void> {
  while (rebuilding.exitCode === null) {
    const { rows } = await service.pool.query(
      `select 1 from pg_indexes where schemaname = 'tunnel_access_rebuild' and indexname = 'ssh_credentials_owner'`,
    );
    if (rows.length > 0) return;
    await sleep(20);
  }
  throw new Error('the rebuild ended before it came to its swap');
}
