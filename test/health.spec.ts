import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withDatabaseThatGoes } from './support/answer-swallowing-proxy.js';
import { ApiClient } from './support/api-client.js';
import { takeLines } from './support/error-lines.js';
import { newPublicKey } from './support/keys.js';
import { ADMIN_KEY, type Service, startService } from './support/service.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ appendQueueLimit: 2 });
});
afterAll(() => service.stop());

/** Without a key, as a supervisor asks. */
const ask = (path: string, url = service.app.url) => new ApiClient(url, undefined).get(path);

const NOT_READY = (reason: RegExp) => ({
  status: 503,
  body: { error_code: 'ERR_TAS_503', status_code: 503, msg: expect.stringMatching(reason) },
});

describe('a database that goes away', () => {
  it('is an error of the log once, however many requests fail, and its end is a line of info', () =>
    withDatabaseThatGoes(
      async (app, proxy) => {
        const client = new ApiClient(app.url, ADMIN_KEY);
        expect((await client.get('/users')).status).toBe(200);
        const log = takeLines();
        const said = () =>
          log
            .lines()
            .flatMap(({ level, fields, message }) => (fields.context === 'Incidents' ? [`${level} ${message}`] : []));
        proxy.goAway();
        for (let n = 0; n < 3; n += 1) {
          expect((await client.get('/users')).status).toBe(503);
          expect((await client.post('/users', { email: 'a@example.test' })).status).toBe(503);
          expect((await ask('/readyz', app.url)).status).toBe(503);
        }
        expect(said()).toEqual([expect.stringMatching(/^error the database does not answer: /)]);
        proxy.comeBack();
        while (said().length === 1) await sleep(20);
        expect(said()[1]).toMatch(/^info the database answers again, after \d+ s$/);
        log.end();
      },
      { writeDeadlineMs: 1_000 },
    ));
});

describe('GET /livez', () => {
  it('tells that the process runs, without a key', async () => {
    expect(await ask('/livez')).toMatchObject({ status: 200, body: { status: 'live' } });
  });
});

describe('GET /readyz', () => {
  it('tells that every kind of request can be served, without a key', async () => {
    expect(await ask('/readyz')).toMatchObject({ status: 200, body: { status: 'ready' } });
  });

  it('is 503 while the database does not answer, and /livez is not', () =>
    withDatabaseThatGoes(async (app, proxy) => {
      proxy.goAway();
      const answer = await ask('/readyz', app.url);
      expect(answer).toMatchObject(NOT_READY(/^Not ready: the database does not answer\.$/));
      expect(answer.headers.get('retry-after')).toBe('1');
      expect((await ask('/livez', app.url)).status).toBe(200);
      proxy.comeBack();
      expect((await ask('/readyz', app.url)).status).toBe(200);
    }));

  it('is 503 while a migration is pending, and 200 when a newer version has applied more', async () => {
    const { rows } = await service.pool.query(
      'delete from migrations where id = (select max(id) from migrations) returning *',
    );
    expect(await ask('/readyz')).toMatchObject(NOT_READY(/^Not ready: 1 of \d+ migrations are pending\.$/));
    for (const name of [rows[0].name, 'OfANewerVersion9999999999999']) {
      await service.pool.query('insert into migrations (timestamp, name) values ($1, $2)', [rows[0].timestamp, name]);
    }
    expect((await ask('/readyz')).status).toBe(200);
  });

  it('is 503 while the queue of changes is full', async () => {
    const holder = await service.pool.connect();
    await holder.query('begin; select 1 from log_heads for update');
    const posts: Promise<unknown>[] = [];
    let answer = await ask('/readyz');
    // Changes that arrive at once may all be of the batch that waits for the head; only later ones fill the queue.
    while (answer.status === 200) {
      posts.push(service.admin.post('/ssh_credentials', { public_key: newPublicKey() }));
      answer = await ask('/readyz');
    }
    await holder.query('rollback');
    holder.release();
    expect(answer).toMatchObject(NOT_READY(/^Not ready: too many changes wait to be written\.$/));
    await Promise.all(posts);
    expect((await ask('/readyz')).status).toBe(200);
  });
});
