import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { takeLines } from '../support/error-lines.js';
import { startInstance } from '../support/instance.js';
import { newPublicKey } from '../support/keys.js';
import { stopAtEnd } from '../support/leftovers.js';
import { METRICS_TOKEN, scrape, seriesValue } from '../support/metrics.js';
import { PostgresServer } from '../support/postgres-server.js';

/** A small file system of its own, which only root can mount, as in CI. */
let postgres: PostgresServer;
/** Longer than the time without a failure after which an incident may end. */
const QUIET_MS = 7_000;

beforeAll(async () => {
  if (process.getuid?.() !== 0) throw new Error('this test mounts a small file system: run it as root');
  const folder = await mkdtemp(join(tmpdir(), 'tas-small-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m,mode=0777', 'tmpfs', folder]);
  stopAtEnd(async () => {
    await postgres.kill();
    execFileSync('umount', [folder]);
    await rm(folder, { recursive: true });
  });
  await chmod(folder, 0o777);
  const place = join(folder, 'tables');
  execFileSync('install', ['-d', '-o', 'postgres', place]);
  // With few buffers a read would have to write a changed page of another table first.
  postgres = await PostgresServer.primary('shared_buffers=64MB');
  await postgres.query(`create tablespace small location '${place}'`);
  await postgres.query('create database service tablespace small');
});

async function untilRefused(work: () => Promise<unknown>): Promise<never> {
  for (;;) await work();
}

describe('while the disk of the database is full', () => {
  it('a change is answered 503 with the reason and stores nothing, reads go on, and it works again with space', async () => {
    const instance = await startInstance(postgres.url('service'), { metricsToken: METRICS_TOKEN });
    const log = takeLines();
    const ofIncident = () =>
      log
        .lines()
        .flatMap(({ level, fields, message }) => (fields.context === 'Incidents' ? [`${level} ${message}`] : []));
    const status = async () => (await instance.admin.get('/readyz')).body.status;
    const gauge = async () => seriesValue(await scrape(instance.url), 'tunnel_access_cannot_write');
    expect([await status(), await gauge()]).toEqual(['ready', 0]);
    await postgres.query('create table ballast (text text)', 'service');
    const fill = () =>
      postgres.query(`insert into ballast select repeat('x', 1900) from generate_series(1, 100)`, 'service');
    await expect(untilRefused(fill)).rejects.toMatchObject({ code: '53100' });
    const change = () =>
      instance.admin.post('/ssh_credentials', {
        public_key: newPublicKey(),
        metadata: randomBytes(2000).toString('hex'),
      });
    let written = 0;
    let answer = await change();
    for (; answer.status === 201; answer = await change()) written += 1;
    expect(answer).toMatchObject({
      status: 503,
      body: {
        error_code: 'ERR_TAS_503',
        msg: expect.stringMatching(/^The disk of the database is full, so nothing was written/),
      },
    });
    expect(answer.headers.get('retry-after')).toBe('1');
    // A person must see to it: an error, once, however many changes fail.
    for (let n = 0; n < 5; n += 1) expect((await change()).status).toBe(503);
    const full = 'error the disk of the database is full: no change is written until there is space';
    expect(ofIncident()).toEqual([full]);
    expect([await status(), await gauge()]).toEqual(['cannot write: the disk of the database is full', 1]);
    const page = await instance.admin.get('/ssh_credentials?limit=1');
    expect(page.status).toBe(200);
    // Without requests only the probe tells that the disk is still full, and then a server that is paused tells nothing.
    await sleep(QUIET_MS);
    await postgres.pause();
    await sleep(QUIET_MS);
    await postgres.resume();
    expect(await gauge()).toBe(1);
    expect(ofIncident()).toEqual([full]);
    const [{ count }] = await postgres.query('select count(*)::int as count from ssh_credentials', 'service');
    expect(count).toBe(written);
    await postgres.query('drop table ballast', 'service');
    expect((await change()).status).toBe(201);
    while ((await status()) !== 'ready') await sleep(50);
    expect(await gauge()).toBe(0);
    expect(ofIncident()).toEqual([full, expect.stringMatching(/^info changes are written again, after \d+ s$/)]);
    log.end();
    await instance.stop();
  });
});
