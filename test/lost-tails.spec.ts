import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { KeyHistory, keyText, newCheckpointKey } from '../src/event-log/transparency/seal/checkpoint-key.js';
import { seal } from '../src/event-log/transparency/seal/seal.js';
import { SealedLogs } from '../src/event-log/transparency/seal/sealed-logs.js';
import { followLogs } from '../src/operator/audit/log-tail.js';
import { ApiClient } from './support/api-client.js';
import { inDatabase } from './support/backups.js';
import { takeLines } from './support/error-lines.js';
import { eventually } from './support/eventually.js';
import { METRICS_TOKEN, scrape, seriesValue } from './support/metrics.js';
import { runCli, runCliOn } from './support/process.js';
import { ADMIN_KEY, cloneDatabase, type Service, startCopy, startService } from './support/service.js';
import { type SigningInstance, signingInstance } from './support/signing-instance.js';
import { END_ALARMS, HASH_ANEW, whileTampered } from './support/tampering.js';

const KEY = newCheckpointKey('tunnels.example.com');
const KEYS = new KeyHistory(KEY);
let plain: Service;
let account: string;
beforeAll(async () => {
  // Without a key, so that it seals nothing by itself.
  plain = await startService({ metricsToken: METRICS_TOKEN });
  account = (await plain.pool.query('select account_id from accounts')).rows[0].account_id;
});
afterAll(() => plain.stop());
beforeEach(() => plain.pool.query(END_ALARMS));

const start = (keys = KEYS): SigningInstance => signingInstance(plain.pool, keys);
const IN_ORDER = 'on';
const ALARM = 'ALARM: signed events are lost or changed, in 1 of the logs';
const stateOf = ({ checkpoints }: SigningInstance): string => checkpoints.state;
/** Its state after a look. */
async function look(instance: SigningInstance): Promise<string> {
  await instance.look();
  return stateOf(instance);
}

const whileEdited = (statements: string, work: () => Promise<void>): Promise<void> =>
  whileTampered(plain.databaseUrl, statements, work);
const sealedSize = async (): Promise<number> =>
  (await plain.pool.query('select max(size)::int as size from log_checkpoints')).rows[0].size;
const latest = ({ evidence }: SigningInstance): Promise<string> => evidence.checkpoint(account, undefined);
/** A witness shows a checkpoint that it has kept. */
const show = ({ evidence }: SigningInstance, known: string): Promise<string> => evidence.checkpoint(account, known);
const alarms = (...args: string[]) =>
  runCli({ DATABASE_URL: plain.databaseUrl, CHECKPOINT_KEY: keyText(KEY) }, 'audit', 'alarms', ...args);

async function add(events: number): Promise<number> {
  let position = 0;
  for (let n = 0; n < events; n += 1) {
    position = Number((await plain.admin.post('/edges/tcp', {})).headers.get('log-position'));
  }
  return position;
}

/** Adds events, which the instance signs. */
async function grow(instance: SigningInstance, events: number): Promise<number> {
  const position = await add(events);
  await instance.look();
  expect(await sealedSize()).toBe(position);
  return position;
}

const cutEvents = (to: number): string => `delete from events where position > ${to};
  update log_heads set size = ${to}; delete from log_checkpoints where size > ${to}`;
const cut = (to: number): string => `${cutEvents(to)}; update log_tiles set hashes = substr(hashes, 1, 32 * ${to})`;
const editedAt = (position: number): string =>
  `update events set metadata = replace(metadata, '127.0.0.1', '192.0.2.1') where position = ${position}; ${HASH_ANEW}`;

describe('a log that is shorter than one that was signed', () => {
  it('raises an alarm in the log, /readyz and the metrics of an instance that has seen it, by itself', async () => {
    const lines = takeLines();
    const service = await startCopy(plain, { checkpointKeys: KEYS, metricsToken: METRICS_TOKEN });
    const state = async () => {
      const { status, body } = await new ApiClient(service.app.url, undefined).get('/readyz');
      return [status, body.checkpoints, seriesValue(await scrape(service.app.url), 'tunnel_access_lost_logs')];
    };
    const size = await add(2);
    const sealed = async () => expect((await service.admin.get(`/log/proof?position=${size}`)).status).toBe(200);
    await eventually(sealed, 10_000);
    expect(await state()).toEqual([200, IN_ORDER, 0]);
    await whileEdited(cut(size - 2), async () => {
      await eventually(async () => expect(await state()).toEqual([200, ALARM, 1]), 10_000);
    });
    await service.app.close();
    const said = `ALARM: a checkpoint of ${size} events of the log of ${account} was signed, but it has ${size - 2} events: its tail is lost. `;
    expect(lines.end().flatMap(({ message }) => (message.startsWith('ALARM') ? [message] : []))).toEqual([
      expect.stringContaining(said),
    ]);
  });

  it('is signed no more, says the loss once, and keeps its alarm when what was lost is back', async () => {
    const instance = start();
    await grow(instance, 1);
    const size = await grow(instance, 2);
    await whileEdited(cut(size - 2), async () => {
      expect(await look(instance)).toBe(ALARM);
      await add(1);
      // The log has another size, but the loss is the same.
      await instance.look();
      expect(instance.said).toEqual([expect.stringContaining(`has ${size - 2} events: its tail is lost. `)]);
      await add(2);
      await instance.look();
      expect(instance.said.slice(1)).toEqual([expect.stringContaining(`its last checkpoint here is of ${size - 2}`)]);
      expect(await sealedSize()).toBe(size - 2);
    });
    expect(await look(instance)).toBe(ALARM);
  });

  it('raises one alarm when nothing of it is left, which every instance has and one of them says', async () => {
    const [instance, second] = [start(), start()];
    const size = await grow(instance, 1);
    await second.look();
    await whileEdited('delete from events; delete from log_heads; delete from log_checkpoints', async () => {
      await Promise.all([instance.look(), second.look()]);
      for (const one of [instance, second]) expect(await look(one)).toBe(ALARM);
      const said = `a checkpoint of ${size} events of the log of ${account} was signed, but it has 0`;
      expect([...instance.said, ...second.said]).toEqual([expect.stringContaining(said)]);
    });
  });

  it('has its alarm at an instance that was started after the loss too, until an operator ends it; then it goes on as it is', async () => {
    const instance = start();
    await grow(instance, 1);
    const size = await grow(instance, 2);
    await whileEdited(cut(size - 2), async () => {
      const later = start();
      for (const one of [instance, later]) expect(await look(one)).toBe(ALARM);
      await add(1);
      await later.look();
      expect(await sealedSize()).toBe(size - 2);
      const said = `a checkpoint of ${size} events of the log of ${account} was signed, but it has ${size - 2} events: its tail is lost`;
      expect(await alarms()).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(new RegExp(`^${account}\ttail\t\\S+Z\t${said}\n$`)),
      });
      const ended = await alarms('end', account, '--reason', 'no copy is left');
      expect(ended).toMatchObject({ code: 0, stdout: `${account}\ttail\t${said}\n` });
      for (const one of [instance, later]) expect(await look(one)).toBe(IN_ORDER);
      expect(await grow(later, 1)).toBe(size);
      for (const one of [instance, later]) expect(await look(one)).toBe(IN_ORDER);
      expect(await alarms()).toEqual({ code: 0, stdout: '', stderr: 'no alarm is open\n' });
      expect((await alarms('--all')).stdout).toMatch(/: its tail is lost\t\S+Z\tno copy is left\n$/);
    });
  });

  it('whose tiles have kept what it lost asks for their repair after the end of its alarm, and then goes on', async () => {
    const instance = start();
    await grow(instance, 1);
    const size = await grow(instance, 1);
    await whileEdited(cutEvents(size - 1), async () => {
      expect(await look(instance)).toBe(ALARM);
      await alarms('end', account, '--reason', 'no copy is left');
      await add(1);
      await instance.look();
      expect(await look(instance)).toBe(ALARM);
      expect(instance.said.at(-1)).toContain(`the stored tiles go on after its checkpoint of ${size - 1} events`);
      const settings = { DATABASE_URL: plain.databaseUrl, CHECKPOINT_KEY: keyText(KEY) };
      const { stdout } = await runCli(settings, 'audit', 'repair-tiles');
      expect(stdout).toBe(`${account}\tits tiles are made anew\n`);
      expect(await look(instance)).toBe(IN_ORDER);
      expect(await sealedSize()).toBe(size);
    });
  });

  it.each([
    ['lowered', 'update log_heads set size = size - 1'],
    ['removed', 'delete from log_heads'],
  ])('since its head was %s raises the same alarm at an instance that has seen nothing', async (_, edit) => {
    const size = await grow(start(), 1);
    await whileEdited(edit, async () => {
      const restarted = start();
      expect(await look(restarted)).toBe(ALARM);
      expect(restarted.said.join()).toMatch(
        new RegExp(`${size} events of the log of ${account} was signed, but it has \\d+ events: its tail is lost`),
      );
    });
  });

  it('raises the alarm at an instance that has seen nothing, once a witness shows what it kept', async () => {
    const before = start();
    await grow(before, 1);
    await grow(before, 1);
    const older = await latest(before);
    const size = await grow(before, 1);
    const newer = await latest(before);
    await whileEdited(cut(size - 2), async () => {
      const restarted = start();
      expect(await look(restarted)).toBe(IN_ORDER);
      expect(await show(restarted, newer)).toContain(`\n${size - 2}\n`);
      expect(stateOf(restarted)).toBe(ALARM);
      expect(restarted.said).toEqual([
        expect.stringContaining(
          `ALARM: a checkpoint of ${size} events of the log of ${account} was signed, but its newest checkpoint here is of ${size - 2}. `,
        ),
      ]);
      // A restore of a backup from before has no row.
      const restore = 'set session_replication_role = replica; delete from log_alarms';
      await inDatabase(plain.databaseUrl, (client) => client.query(restore));
      expect(await look(restarted)).toBe(IN_ORDER);
      await show(restarted, newer);
      expect(stateOf(restarted)).toBe(ALARM);
      // An operator who has accepted the loss of a checkpoint is not told of it for ever.
      await plain.pool.query(END_ALARMS);
      expect(await look(restarted)).toBe(IN_ORDER);
      await show(restarted, newer);
      expect(await look(restarted)).toBe(IN_ORDER);
      await show(restarted, older);
      expect(stateOf(restarted)).toBe(ALARM);
    });
  });

  it('since an older backup was imported, has its alarm once a witness shows what it kept', async () => {
    const instance = start();
    await grow(instance, 1);
    const backup = (await runCli({ DATABASE_URL: plain.databaseUrl }, 'audit', 'export', '--all')).stdout;
    await grow(instance, 1);
    const target = await cloneDatabase();
    expect(await runCliOn(backup, { DATABASE_URL: target.url }, 'audit', 'import', '-')).toMatchObject({ code: 0 });
    const pool = new pg.Pool({ connectionString: target.url });
    // A connection may outlive the end of the pool, until its database is dropped.
    pool.on('error', () => undefined);
    const restored = signingInstance(pool, KEYS);
    expect(await look(restored)).toBe(IN_ORDER);
    await show(restored, await latest(instance));
    expect(stateOf(restored)).toBe(ALARM);
    await pool.end();
    await target.drop();
  });

  it('or that was written anew, raises the alarm once a witness shows what it kept, and at no other checkpoint', async () => {
    const instance = start();
    const size = await grow(instance, 1);
    const known = await latest(instance);
    const edit = `update events set metadata = replace(metadata, '127.0.0.1', '192.0.2.1'); ${HASH_ANEW};
      delete from log_checkpoints; delete from log_tiles`;
    await whileEdited(edit, async () => {
      await seal(new SealedLogs(plain.pool), KEYS, { accountId: account, size, sealed: 0 });
      const restarted = start();
      for (const harmless of [await latest(restarted), known.replace(`\n${size}\n`, `\n${size + 5}\n`)]) {
        await show(restarted, harmless);
      }
      expect(await look(restarted)).toBe(IN_ORDER);
      await show(restarted, known);
      expect(stateOf(restarted)).toBe(ALARM);
      expect(restarted.said).toEqual([
        expect.stringContaining(
          `a checkpoint of ${size} events of the log of ${account} was signed that its events do not make`,
        ),
      ]);
    });
  });

  it('is not claimed by a stored checkpoint that this key has not signed', async () => {
    const instance = start();
    const size = await grow(instance, 1);
    const known = await latest(instance);
    const claim = `insert into log_checkpoints (account_id, size, follows, note)
      select account_id, size + 1000, size, note from log_checkpoints where size = ${size}`;
    await whileEdited(claim, async () => {
      const lines = takeLines();
      await instance.look();
      expect(lines.end().map(({ message }) => message)).toEqual([
        `the log of ${account} cannot be sealed: it is shorter than a stored checkpoint of ${size + 1000} events, which has a wrong signature`,
      ]);
      await show(instance, known);
      await expect(instance.evidence.proof(account, 1)).rejects.toMatchObject({ problem: 'overloaded' });
      expect(await look(instance)).toBe(IN_ORDER);
    });
    await grow(instance, 1);
    expect(stateOf(instance)).toBe(IN_ORDER);
  });

  it('or that was hashed anew while it is idle, raises the alarm by itself', async () => {
    const instance = start();
    const size = await grow(instance, 2);
    expect(stateOf(instance)).toBe(IN_ORDER);
    await whileEdited(editedAt(size - 1), async () => {
      expect(await look(instance)).toBe(ALARM);
      await expect(instance.evidence.proof(account, size - 1)).rejects.toMatchObject({
        problem: 'overloaded',
        message: expect.stringMatching(/^The event at position \d+ is not the one that was signed/),
      });
      await instance.evidence.proof(account, size);
      // The proof and the look have found the same. Once it is accepted, it is for good.
      const said = `ALARM: the event at position ${size - 1} of the log of ${account} is not the one that was signed. `;
      expect(instance.said).toEqual([expect.stringContaining(said)]);
      await plain.pool.query(END_ALARMS);
      for (let n = 0; n < 2; n += 1) expect(await look(instance)).toBe(IN_ORDER);
      await grow(instance, 1);
    });
  });

  it('has no value in the metrics while checkpoints are off', async () => {
    expect(await scrape(plain.app.url)).not.toMatch(/^tunnel_access_lost_logs /m);
  });
});

describe('a log whose newest checkpoint an earlier key has signed', () => {
  it('is watched after a change of key, and held to what a witness has kept', async () => {
    const changed = new KeyHistory(newCheckpointKey('new.example.com'), [KEY]);
    const before = start();
    await grow(before, 1);
    const size = await grow(before, 1);
    const known = await latest(before);
    await whileEdited(editedAt(size), async () => {
      const instance = start(changed);
      expect(await look(instance)).toBe(ALARM);
      expect(instance.said.join()).toContain(`the event at position ${size} of the log of ${account} is not the one`);
    });
    await plain.pool.query(END_ALARMS);
    await whileEdited(cut(size - 1), async () => {
      const instance = start(changed);
      await show(instance, known);
      expect(stateOf(instance)).toBe(ALARM);
    });
  });
});

describe('proofs of a log', () => {
  it.each([
    ['damaged', `update log_tiles set hashes = overlay(hashes placing '\\xdeadbeef' from 1) where level = 0`],
    ['missing', 'delete from log_tiles'],
  ])(
    'and its tiles are refused when a tile is %s, with an alarm that stops signing until it is repaired',
    async (_, damage) => {
      const instance = start();
      const size = await grow(instance, 3);
      const known = await latest(instance);
      const { evidence } = instance;
      const asked = () =>
        Promise.allSettled([
          evidence.proof(account, size),
          evidence.consistency(account, size - 2, size - 1),
          evidence.consistency(account, 1, size),
          evidence.tile(account, '0/000.p/1'),
        ]);
      const answered = Array(4).fill(expect.objectContaining({ status: 'fulfilled' }));
      expect(await asked()).toEqual(answered);
      await whileEdited(damage, async () => {
        const reason = { problem: 'overloaded', message: expect.stringContaining('missing or damaged') };
        expect(await asked()).toMatchObject(Array(4).fill({ status: 'rejected', reason }));
        expect(await show(instance, known)).toBe(known);
        expect(await look(instance)).toBe(ALARM);
        expect(instance.said).toHaveLength(1);
        await add(1);
        expect(
          await runCli({ DATABASE_URL: plain.databaseUrl, CHECKPOINT_KEY: keyText(KEY) }, 'audit', 'repair-tiles'),
        ).toEqual({
          code: 0,
          stdout: `${account}\tits tiles are made anew\n`,
          stderr: expect.stringMatching(
            new RegExp(
              `^the trigger log_tiles_guard is lifted .*\n(the alarm of ${account} is ended: the log of ${account} has no proofs: .*\n)+$`,
            ),
          ),
        });
        expect(await asked()).toEqual(answered);
        expect(await look(instance)).toBe(IN_ORDER);
        await evidence.proof(account, size + 1);
      });
    },
  );
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
      await eventually(() => expect(reports).toHaveLength(1), 10_000);
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
