import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { startSwallowingProxy } from '../support/answer-swallowing-proxy.js';
import { ApiClient } from '../support/api-client.js';
import { provenOf } from '../support/found.js';
import { stopAtEnd } from '../support/leftovers.js';
import { addManyCredentials } from '../support/many-credentials.js';
import { addBot } from '../support/principals.js';
import { startMain, stopMain } from '../support/process.js';
import { ADMIN_KEY, type Service, startCopy, startService } from '../support/service.js';

const CREDENTIALS = 1_500;

let service: Service;
let pool: pg.Pool;
beforeEach(async () => {
  service = await startService();
  pool = new pg.Pool({ connectionString: service.databaseUrl }).on('error', () => undefined);
});
afterEach(async () => {
  await pool.end();
  await service.stop();
});

/** A bot with many credentials, and a lock on the last of them, at which a removal waits. No instance runs any more. */
async function lockedBot() {
  const bot = await addBot(service);
  await service.app.close();
  await addManyCredentials(pool, bot, CREDENTIALS);
  const locker = new pg.Client(service.databaseUrl);
  await locker.connect();
  const end = stopAtEnd(() => locker.end());
  await locker.query(
    `begin; select from ssh_credentials where id = 'sshcr_${String(CREDENTIALS).padStart(27, '0')}' for update`,
  );
  return {
    bot,
    untilDeletionWaits: async () => {
      while ((await waitingForLocks()).length === 0) await sleep(5);
    },
    /** Lets the lock go, after the statement that waits for it is ended with its connection. */
    release: async () => {
      for (const { pid } of await waitingForLocks()) await pool.query('select pg_terminate_backend($1)', [pid]);
      await end();
    },
  };
}

async function waitingForLocks(): Promise<{ pid: number }[]> {
  const text = `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return (await pool.query(text)).rows;
}

/** Deletes the bot through an instance that is killed in the middle. */
async function killDuringDeletion(headers: Record<string, string> = {}) {
  const { bot, untilDeletionWaits, release } = await lockedBot();
  const victim = startMain({ DATABASE_URL: service.databaseUrl });
  const client = new ApiClient(await victim.url, ADMIN_KEY);
  const deletion = client.send('DELETE', `/bot_users/${bot.id}`, undefined, headers).catch(() => undefined);
  await untilDeletionWaits();
  await stopMain(victim, 'SIGKILL');
  await deletion;
  await release();
  expect(await remaining(bot.id)).toBeGreaterThan(0);
  expect(await remaining(bot.id)).toBeLessThan(CREDENTIALS);
  return bot;
}

async function remaining(owner: string): Promise<number> {
  const text = `select (select count(*) from ssh_credentials where owner_id = $1)::int
    + (select count(*) from api_keys where owner_id = $1)::int as n`;
  return (await pool.query(text, [owner])).rows[0].n;
}

async function untilAllAreRemoved(owner: string): Promise<void> {
  const deadline = Date.now() + 40_000;
  while ((await remaining(owner)) > 0 && Date.now() < deadline) await sleep(50);
  expect(await remaining(owner)).toBe(0);
}

/** The log has each removal once, every removal names the deletion's actor, operation and event, and the rows are its fold. */
async function expectWellRecorded({ app }: Pick<Service, 'app'>, owner: string): Promise<void> {
  const { rows } = await pool.query(
    `with deletion as (
       select metadata::jsonb - 'idempotency_key' - 'request_hash' || jsonb_build_object('causation_id', event_id) as metadata from events
       where stream_id = $1 order by stream_version desc limit 1)
     select count(*)::int as events, count(distinct stream_id)::int as streams,
       count(*) filter (where e.metadata::jsonb - 'idempotency_key' - 'request_hash' = deletion.metadata)::int as named
     from events e, deletion where type in ('ssh_credential_deleted.v1', 'api_key_deleted.v1')`,
    [owner],
  );
  const all = CREDENTIALS + 1;
  expect(rows).toEqual([{ events: all, streams: all, named: all }]);
  // Events that SQL wrote here have no hashes, which the proof names as faults of the log.
  expect((await provenOf(app.database)).differences).toEqual([]);
  expect((await pool.query('select from pending_removals')).rowCount).toBe(0);
}

describe('a deletion of a principal that was killed in the middle', () => {
  it('is finished by the next start without a request, and the log has each removal once', async () => {
    const bot = await killDuringDeletion();
    const next = await startCopy(service);
    await untilAllAreRemoved(bot.id);
    await expectWellRecorded(next, bot.id);
    await next.stop();
  });

  it('is finished by two instances that work at it at once', async () => {
    const bot = await killDuringDeletion();
    const [one, other] = await Promise.all([startCopy(service), startCopy(service)]);
    let isOver = false;
    // Due at every moment, so each instance takes it while the other works at it.
    const hurrying = (async () => {
      while (!isOver) await pool.query('update pending_removals set due_at = now()');
    })();
    await untilAllAreRemoved(bot.id).finally(() => {
      isOver = true;
    });
    await hurrying;
    await expectWellRecorded(one, bot.id);
    await Promise.all([one.stop(), other.stop()]);
  });

  it('is finished when a repetition under its Idempotency-Key is answered', async () => {
    const headers = { 'idempotency-key': 'delete the bot' };
    const bot = await killDuringDeletion(headers);
    const next = await startCopy(service);
    const admin = new ApiClient(next.app.url, ADMIN_KEY);
    const { status } = await admin.delete(`/bot_users/${bot.id}`, headers);
    expect([status, await remaining(bot.id)]).toEqual([204, 0]);
    await expectWellRecorded(next, bot.id);
    await next.stop();
  });
});

describe('a deletion of a principal while the database goes away', () => {
  it('answers 503 that it may have been written, and is finished without a request once the database is back', async () => {
    const { bot, untilDeletionWaits, release } = await lockedBot();
    const proxy = await startSwallowingProxy(service.databaseUrl);
    const main = startMain({ DATABASE_URL: proxy.url });
    const deletion = new ApiClient(await main.url, ADMIN_KEY).delete(`/bot_users/${bot.id}`);
    await untilDeletionWaits();
    proxy.goAway();
    await release();
    const { status, body } = await deletion;
    expect([status, body.error_code]).toEqual([503, 'ERR_TAS_503']);
    expect(body.msg).toMatch(/may have been written/);
    expect(await remaining(bot.id)).toBeGreaterThan(0);
    proxy.comeBack();
    await untilAllAreRemoved(bot.id);
    const { code, output } = await stopMain(main);
    expect(code).toBe(0);
    expect(output.match(/cannot be removed now/g)).toHaveLength(1);
    expect(output).toMatch(/removed \d+ API keys and SSH credentials of bot_/);
    await proxy.close();
  });
});
