import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createApp } from '../src/api/app.js';
import { ServiceLog } from '../src/api/service-log/service-log.js';
import { KeyHistory, keyText, newCheckpointKey } from '../src/event-log/transparency/seal/checkpoint-key.js';
import { seal } from '../src/event-log/transparency/seal/seal.js';
import { SealedLogs } from '../src/event-log/transparency/seal/sealed-logs.js';
import { followLogs } from '../src/operator/audit/log-tail.js';
import { ApiClient } from './support/api-client.js';
import { METRICS_TOKEN, scrape, seriesValue } from './support/metrics.js';
import { runCli, runCliOn } from './support/process.js';
import { ADMIN_KEY, emptyDatabase, type Service, startService, testConfig } from './support/service.js';
import { END_ALARMS, HASH_ANEW, whileTampered } from './support/tampering.js';

const KEY = newCheckpointKey('tunnels.example.com');
const KEYS = new KeyHistory(KEY);
let plain: Service;
let account: string;
beforeAll(async () => {
  // Without a key, so that it seals nothing by itself.
  plain = await startService();
  account = (await plain.pool.query('select account_id from accounts')).rows[0].account_id;
});
afterAll(() => plain.stop());
beforeEach(() => plain.pool.query(END_ALARMS));

class CollectedLog extends ServiceLog {
  readonly messages: string[] = [];

  override line(_level: string, _fields: object, message: string): void {
    this.messages.push(message);
  }
}

/** An instance that signs checkpoints, with what it logs. */
async function withSealer(
  work: (instance: Instance) => Promise<void>,
  { checkpointKeys = KEYS, databaseUrl = plain.databaseUrl } = {},
): Promise<void> {
  const log = new CollectedLog('error');
  const config = testConfig(databaseUrl, { checkpointKeys, metricsToken: METRICS_TOKEN });
  const app = await createApp(config, log);
  try {
    await work({ client: new ApiClient(app.url, ADMIN_KEY), url: app.url, logged: () => log.messages.join('\n') });
  } finally {
    await app.close();
  }
}

interface Instance {
  readonly client: ApiClient;
  readonly url: string;
  readonly logged: () => string;
}

const stateOf = async ({ url }: Instance) => {
  const { status, body } = await new ApiClient(url, undefined).get('/readyz');
  return [status, body.checkpoints, seriesValue(await scrape(url), 'tunnel_access_lost_logs')];
};
const IN_ORDER = [200, 'on', 0];
const ALARM = [200, 'ALARM: signed events are lost or changed, in 1 of the logs', 1];

/** The guarantee is one look of the sealer, which comes every second. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 300 && !(await isSo()); attempt += 1) {
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
const alarm = async (instance: Instance) => {
  await until(async () => (await stateOf(instance))[2] === 1);
  return stateOf(instance);
};
const noAlarm = async (instance: Instance) => {
  await until(async () => (await stateOf(instance))[2] === 0);
  return stateOf(instance);
};
/** Longer than two looks of the sealer. */
const twoLooks = () => new Promise((resolve) => setTimeout(resolve, 2_200));
async function tamper(statements: string): Promise<void> {
  const sql = new pg.Client(plain.databaseUrl);
  await sql.connect();
  await sql.query(`set session_replication_role = replica; ${statements}`);
  await sql.end();
}
const sealedSize = async (): Promise<number> =>
  (await plain.pool.query('select max(size)::int as size from log_checkpoints')).rows[0].size;
const show = ({ client }: Instance, known: string) => client.get(`/log/checkpoint?${new URLSearchParams({ known })}`);
const alarms = (...args: string[]) =>
  runCli({ DATABASE_URL: plain.databaseUrl, CHECKPOINT_KEY: keyText(KEY) }, 'audit', 'alarms', ...args);

/** Adds events, and waits until the instance has signed them. */
async function grow({ client }: Instance, events: number): Promise<number> {
  let position = 0;
  for (let n = 0; n < events; n += 1) {
    position = Number((await client.post('/edges/tcp', {})).headers.get('log-position'));
  }
  await until(async () => (await client.get(`/log/proof?position=${position}`)).status === 200);
  // The instance remembers it right after the database has it.
  await new Promise((resolve) => setTimeout(resolve, 100));
  return position;
}

const cut = (to: number): string =>
  `delete from events where position > ${to}; update log_heads set size = ${to}; delete from log_checkpoints where size > ${to}`;

describe('a log that is shorter than one that was signed', () => {
  it('raises an alarm in the log, /readyz and the metrics of an instance that has seen it, and is signed no more', async () => {
    await withSealer(async (instance) => {
      await grow(instance, 1);
      const size = await grow(instance, 2);
      expect(await stateOf(instance)).toEqual(IN_ORDER);
      await whileTampered(plain.databaseUrl, cut(size - 2), async () => {
        expect(await alarm(instance)).toEqual(ALARM);
        expect(instance.logged()).toContain(
          `ALARM: a checkpoint of ${size} events of the log of ${account} was signed, but it has ${size - 2} events: its tail is lost. `,
        );
        expect(instance.logged().split('ALARM').length).toBe(2);
        await instance.client.post('/edges/tcp', {});
        // The log has another size, but the loss is the same.
        await twoLooks();
        expect(instance.logged().split('its tail is lost').length).toBe(2);
        for (let n = 0; n < 2; n += 1) await instance.client.post('/edges/tcp', {});
        await until(async () => instance.logged().includes('its last checkpoint here is of'));
        expect(instance.logged()).toContain(`its last checkpoint here is of ${size - 2}`);
        expect(await sealedSize()).toBe(size - 2);
      });
      await twoLooks();
      expect(await stateOf(instance)).toEqual(ALARM);
    });
  });

  it('raises one alarm when nothing of it is left, which every instance has and one of them says', async () => {
    await withSealer(async (instance) => {
      const size = await grow(instance, 1);
      await withSealer(async (second) => {
        await new Promise((resolve) => setTimeout(resolve, 1_100));
        await whileTampered(
          plain.databaseUrl,
          'delete from events; delete from log_heads; delete from log_checkpoints',
          async () => {
            for (const one of [instance, second]) expect(await alarm(one)).toEqual(ALARM);
            await twoLooks();
            const said = `a checkpoint of ${size} events of the log of ${account} was signed, but it has 0`;
            expect(`${instance.logged()}${second.logged()}`.split(said)).toHaveLength(2);
          },
        );
      });
    });
  });

  it('has its alarm at an instance that was started after the loss too, until an operator ends it; then it goes on as it is', async () => {
    await withSealer(async (instance) => {
      await grow(instance, 1);
      const size = await grow(instance, 2);
      await whileTampered(plain.databaseUrl, cut(size - 2), async () => {
        expect(await alarm(instance)).toEqual(ALARM);
        await withSealer(async (later) => {
          expect(await alarm(later)).toEqual(ALARM);
          await later.client.post('/edges/tcp', {});
          await twoLooks();
          expect(await sealedSize()).toBe(size - 2);
          const said = `a checkpoint of ${size} events of the log of ${account} was signed, but it has ${size - 2} events: its tail is lost`;
          expect(await alarms()).toMatchObject({
            code: 0,
            stdout: expect.stringMatching(new RegExp(`^${account}\ttail\t\\S+Z\t${said}\n$`)),
          });
          const ended = await alarms('end', account, '--reason', 'no copy is left');
          expect(ended).toMatchObject({ code: 0, stdout: `${account}\ttail\t${said}\n` });
          for (const one of [instance, later]) expect(await noAlarm(one)).toEqual(IN_ORDER);
          const next = await grow(later, 1);
          expect(next).toBe(size);
          await twoLooks();
          for (const one of [instance, later]) expect(await stateOf(one)).toEqual(IN_ORDER);
          expect(await alarms()).toEqual({ code: 0, stdout: '', stderr: 'no alarm is open\n' });
          expect((await alarms('--all')).stdout).toMatch(/: its tail is lost\t\S+Z\tno copy is left\n$/);
        });
      });
    });
  });

  it.each([
    ['lowered', 'update log_heads set size = size - 1'],
    ['removed', 'delete from log_heads'],
  ])('since its head was %s raises the same alarm at an instance that has seen nothing', async (_, edit) => {
    let size = 0;
    await withSealer(async (instance) => {
      size = await grow(instance, 1);
    });
    await whileTampered(plain.databaseUrl, edit, () =>
      withSealer(async (restarted) => {
        expect(await alarm(restarted)).toEqual(ALARM);
        expect(restarted.logged()).toMatch(
          new RegExp(`${size} events of the log of ${account} was signed, but it has \\d+ events: its tail is lost`),
        );
      }),
    );
  });

  it('raises the alarm at an instance that has seen nothing, once a witness shows what it kept', async () => {
    let size = 0;
    const known: string[] = [];
    await withSealer(async (instance) => {
      await grow(instance, 1);
      for (let n = 0; n < 2; n += 1) {
        size = await grow(instance, 1);
        known.push((await instance.client.get('/log/checkpoint')).body);
      }
    });
    const [older = '', newer = ''] = known;
    await whileTampered(plain.databaseUrl, cut(size - 2), () =>
      withSealer(async (restarted) => {
        expect(await stateOf(restarted)).toEqual(IN_ORDER);
        expect((await show(restarted, newer)).body).toContain(`\n${size - 2}\n`);
        expect(await alarm(restarted)).toEqual(ALARM);
        expect(restarted.logged()).toContain(
          `ALARM: a checkpoint of ${size} events of the log of ${account} was signed, but its newest checkpoint here is of ${size - 2}. `,
        );
        // A restore of a backup from before has no row.
        await tamper('delete from log_alarms');
        expect(await noAlarm(restarted)).toEqual(IN_ORDER);
        await show(restarted, newer);
        expect(await alarm(restarted)).toEqual(ALARM);
        // An operator who has accepted the loss of a checkpoint is not told of it for ever.
        await alarms('end', account, '--reason', 'accepted');
        expect(await noAlarm(restarted)).toEqual(IN_ORDER);
        await show(restarted, newer);
        await twoLooks();
        expect(await stateOf(restarted)).toEqual(IN_ORDER);
        await show(restarted, older);
        expect(await alarm(restarted)).toEqual(ALARM);
      }),
    );
  });

  it('since an older backup was imported, has its alarm once a witness shows what it kept', async () => {
    let [backup, known] = ['', ''];
    await withSealer(async (instance) => {
      await grow(instance, 1);
      backup = (await runCli({ DATABASE_URL: plain.databaseUrl }, 'audit', 'export', '--all')).stdout;
      await grow(instance, 1);
      known = (await instance.client.get('/log/checkpoint')).body;
    });
    const target = await emptyDatabase();
    expect(await runCliOn(backup, { DATABASE_URL: target.url }, 'audit', 'import', '-')).toMatchObject({ code: 0 });
    await withSealer(
      async (restored) => {
        expect(await noAlarm(restored)).toEqual(IN_ORDER);
        await show(restored, known);
        expect(await alarm(restored)).toEqual(ALARM);
      },
      { databaseUrl: target.url },
    );
    await target.drop();
  });

  it('or that was written anew, raises the alarm once a witness shows what it kept, and at no other checkpoint', async () => {
    let [size, known] = [0, ''];
    await withSealer(async (instance) => {
      size = await grow(instance, 1);
      known = (await instance.client.get('/log/checkpoint')).body;
    });
    const edit = `update events set metadata = replace(metadata, '127.0.0.1', '192.0.2.1'); ${HASH_ANEW};
      delete from log_checkpoints; delete from log_tiles`;
    await whileTampered(plain.databaseUrl, edit, async () => {
      await seal(new SealedLogs(plain.pool), KEYS, { accountId: account, size, sealed: 0 });
      await withSealer(async (restarted) => {
        const { body: own } = await restarted.client.get('/log/checkpoint');
        for (const harmless of [own, known.replace(`\n${size}\n`, `\n${size + 5}\n`)]) {
          expect((await show(restarted, harmless)).status).toBe(200);
        }
        expect(await stateOf(restarted)).toEqual(IN_ORDER);
        expect((await show(restarted, known)).status).toBe(200);
        expect(await alarm(restarted)).toEqual(ALARM);
        expect(restarted.logged()).toContain(
          `a checkpoint of ${size} events of the log of ${account} was signed that its events do not make`,
        );
      });
    });
  });

  it('is not claimed by a stored checkpoint that this key has not signed', async () => {
    await withSealer(async (instance) => {
      const size = await grow(instance, 1);
      const known = (await instance.client.get('/log/checkpoint')).body;
      const claim = `insert into log_checkpoints (account_id, size, follows, note)
        select account_id, size + 1000, size, note from log_checkpoints where size = ${size}`;
      await whileTampered(plain.databaseUrl, claim, async () => {
        await until(async () => instance.logged().includes('cannot be sealed'));
        expect(instance.logged()).toContain(
          `the log of ${account} cannot be sealed: it is shorter than a stored checkpoint of ${size + 1000} events, which has a wrong signature`,
        );
        await show(instance, known);
        expect((await instance.client.get('/log/proof?position=1')).status).toBe(503);
        await twoLooks();
        expect(await stateOf(instance)).toEqual(IN_ORDER);
      });
      await grow(instance, 1);
      expect(await stateOf(instance)).toEqual(IN_ORDER);
    });
  });

  it('or whose tiles are gone, has an alarm and its checkpoint, and clear refusals instead of proofs', async () => {
    await withSealer(async (instance) => {
      const size = await grow(instance, 2);
      const known = (await instance.client.get('/log/checkpoint')).body;
      await whileTampered(plain.databaseUrl, 'delete from log_tiles', async () => {
        const ask = (path: string) => instance.client.get(path);
        const refused = `/log/proof?position=1 /log/tile/0/000.p/1 /log/consistency?from=${size - 1}&to=${size}`;
        for (const path of refused.split(' ')) {
          expect([path, await ask(path)]).toEqual([
            path,
            expect.objectContaining({
              status: 503,
              body: expect.objectContaining({ msg: expect.stringContaining('missing or damaged') }),
            }),
          ]);
        }
        expect(await show(instance, known)).toMatchObject({ status: 200, body: known });
        expect(await alarm(instance)).toEqual(ALARM);
      });
    });
  });

  it('or that was hashed anew while it is idle, raises the alarm by itself', async () => {
    await withSealer(async (instance) => {
      const size = await grow(instance, 2);
      expect(await stateOf(instance)).toEqual(IN_ORDER);
      const edit = `update events set metadata = replace(metadata, '127.0.0.1', '192.0.2.1') where position = ${size - 1}; ${HASH_ANEW}`;
      await whileTampered(plain.databaseUrl, edit, async () => {
        expect(await alarm(instance)).toEqual(ALARM);
        expect(instance.logged()).toContain(
          `ALARM: the event at position ${size - 1} of the log of ${account} is not the one that was signed. `,
        );
        expect(await instance.client.get(`/log/proof?position=${size - 1}`)).toMatchObject({
          status: 503,
          body: { msg: expect.stringMatching(/^The event at position \d+ is not the one that was signed/) },
        });
        expect((await instance.client.get(`/log/proof?position=${size}`)).status).toBe(200);
        // The proof and the look have found the same. Once it is accepted, it is for good.
        expect(instance.logged().split('ALARM')).toHaveLength(2);
        await alarms('end', account, '--reason', 'the address was a secret');
        await noAlarm(instance);
        await twoLooks();
        expect(await stateOf(instance)).toEqual(IN_ORDER);
        await grow(instance, 1);
      });
    });
  });

  it('has no value in the metrics while checkpoints are off', async () => {
    const app = await createApp(testConfig(plain.databaseUrl, { metricsToken: METRICS_TOKEN }));
    expect(await scrape(app.url)).not.toMatch(/^tunnel_access_lost_logs /m);
    await app.close();
  });
});

describe('a log whose newest checkpoint an earlier key has signed', () => {
  it('is watched after a change of key, and held to what a witness has kept', async () => {
    const changed = new KeyHistory(newCheckpointKey('new.example.com'), [KEY]);
    let [size, known] = [0, ''];
    await withSealer(async (instance) => {
      await grow(instance, 1);
      size = await grow(instance, 1);
      known = (await instance.client.get('/log/checkpoint')).body;
    });
    const edit = `update events set metadata = replace(metadata, '127.0.0.1', '192.0.2.1') where position = ${size}; ${HASH_ANEW}`;
    await whileTampered(plain.databaseUrl, edit, () =>
      withSealer(
        async (instance) => {
          expect(await alarm(instance)).toEqual(ALARM);
          expect(instance.logged()).toContain(`the event at position ${size} of the log of ${account} is not the one`);
        },
        { checkpointKeys: changed },
      ),
    );
    await plain.pool.query(END_ALARMS);
    await whileTampered(plain.databaseUrl, cut(size - 1), () =>
      withSealer(
        async (instance) => {
          await show(instance, known);
          expect(await alarm(instance)).toEqual(ALARM);
        },
        { checkpointKeys: changed },
      ),
    );
  });
});

describe('proofs of a log', () => {
  it('and its tiles are refused when a tile is damaged, with an alarm that stops signing until it is repaired', async () => {
    await withSealer(async (instance) => {
      const size = await grow(instance, 3);
      const asked = [
        `/log/proof?position=${size}`,
        `/log/consistency?from=${size - 2}&to=${size - 1}`,
        `/log/consistency?from=1&to=${size}`,
        '/log/tile/0/000.p/1',
      ];
      const statuses = async () => Promise.all(asked.map(async (path) => (await instance.client.get(path)).status));
      expect(await statuses()).toEqual([200, 200, 200, 200]);
      const damage = `update log_tiles set hashes = overlay(hashes placing '\\xdeadbeef' from 1) where account_id = '${account}' and level = 0`;
      await whileTampered(plain.databaseUrl, damage, async () => {
        expect(await statuses()).toEqual([503, 503, 503, 503]);
        expect(await instance.client.get(asked[0] ?? '')).toMatchObject({
          body: { error_code: 'ERR_TAS_503', msg: expect.stringContaining('missing or damaged') },
        });
        expect(await alarm(instance)).toEqual(ALARM);
        expect(instance.logged().split('ALARM')).toHaveLength(2);
        await instance.client.post('/edges/tcp', {});
        expect(
          await runCli({ DATABASE_URL: plain.databaseUrl, CHECKPOINT_KEY: keyText(KEY) }, 'audit', 'repair-tiles'),
        ).toEqual({
          code: 0,
          stdout: `${account}\tits tiles are made anew\n`,
          stderr: expect.stringMatching(
            new RegExp(
              `^the trigger log_tiles_guard is lifted .*\nthe alarm of ${account} is ended: the log of ${account} has no proofs: .*\n$`,
            ),
          ),
        });
        expect(await statuses()).toEqual([200, 200, 200, 200]);
        expect(await noAlarm(instance)).toEqual(IN_ORDER);
        await until(async () => (await instance.client.get(`/log/proof?position=${size + 1}`)).status === 200);
        expect((await instance.client.get(`/log/proof?position=${size + 1}`)).status).toBe(200);
      });
    });
  });
});

describe('a reader that is ahead of the log', () => {
  const headOf = async (): Promise<number> =>
    (await plain.pool.query('select size::int from log_heads where account_id = $1', [account])).rows[0].size;
  const read = (query: string, accept: string, further: Record<string, string> = {}) =>
    fetch(`${plain.app.url}/events${query}`, {
      headers: { authorization: `Bearer ${ADMIN_KEY}`, accept, ...further },
      signal: AbortSignal.timeout(20_000),
    });

  it.each(['application/json', 'application/cloudevents-batch+json', 'application/x-ndjson', 'text/event-stream'])(
    'hears of the lost tail, in the form %s too, and not that its position is malformed',
    async (accept) => {
      const head = await headOf();
      const lost = await read(`?after=${head + 3}`, accept);
      expect([lost.status, await lost.json()]).toEqual([
        410,
        expect.objectContaining({
          error_code: 'ERR_TAS_410',
          msg: expect.stringMatching(
            new RegExp(`^after is ${head + 3}, but the log ends at position ${head}\\. If you have`),
          ),
        }),
      ]);
      const whole = await read(`?after=${head}`, accept);
      expect(whole.status).toBe(200);
      await whole.body?.cancel();
    },
  );

  it('hears of it on a live feed, whose last message says so, and again when it comes back', async () => {
    for (let n = 0; n < 3; n += 1) await plain.admin.post('/edges/tcp', {});
    const head = await headOf();
    const feed = await read(`?after=${head - 1}`, 'text/event-stream');
    const chunks = feed.body?.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
    let text = '';
    while (!text.includes(`id: ${head}\n`)) text += (await chunks?.next())?.value;
    await whileTampered(plain.databaseUrl, cut(head - 2), async () => {
      let rest = '';
      for (let part = await chunks?.next(); part?.done === false; part = await chunks?.next()) rest += part.value;
      const [, data = ''] = /^event: log_tail_lost\ndata: (.*)\n\n$/.exec(rest) ?? [];
      expect(JSON.parse(data)).toEqual({
        error_code: 'ERR_TAS_410',
        status_code: 410,
        msg: expect.stringContaining(`after is ${head}, but the log ends at position ${head - 2}`),
      });
      const again = await read('', 'text/event-stream', { 'last-event-id': String(head) });
      expect(again.status).toBe(410);
    });
  });

  it('hears of it at audit tail -f, which goes on with what follows', async () => {
    const head = await headOf();
    const reports: string[] = [];
    const ending = new AbortController();
    const events = followLogs(plain.pool, new Map([[account, head]]), account, ending.signal, (line) =>
      reports.push(line),
    );
    await whileTampered(plain.databaseUrl, cut(head - 2), async () => {
      const next = events.next();
      await until(async () => reports.length > 0);
      await plain.admin.post('/edges/tcp', {});
      expect((await next).value?.position).toBe(head - 1);
      expect(reports).toEqual([
        expect.stringContaining(
          `the log of ${account} ends at ${head - 2}, but its events up to ${head} were shown: they are lost.`,
        ),
      ]);
    });
    ending.abort();
    await events.return(undefined);
  });
});
