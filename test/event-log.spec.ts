import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { Append, Appended } from '../src/event-log/append/append.js';
import { ClaimRefused } from '../src/event-log/append/append-failures.js';
import { appendStatement } from '../src/event-log/append/append-statement.js';
import type { EventLog } from '../src/event-log/append/event-log.js';
import { prepareAppend } from '../src/event-log/append/prepared-append.js';
import type { Row } from '../src/event-log/read-model.js';
import { startSwallowingProxy } from './support/answer-swallowing-proxy.js';
import { apiKeyAppend, apiKeyRow, appendOf, count, newEvent, openLog, outcomesOf } from './support/log.js';
import { cloneDatabase } from './support/service.js';

const run = promisify(execFile);

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let sql: pg.Client;
let log: EventLog;
let closeLog: () => Promise<void>;
/** Another instance on the same database. */
let secondLog: EventLog;
let closeSecondLog: () => Promise<void>;
let alarms: string[];
let account: string;

beforeAll(async () => {
  database = await cloneDatabase();
  sql = new pg.Client(database.url);
  await sql.connect();
});
afterAll(async () => {
  await sql.end();
  await database.drop();
});
beforeEach(() => {
  account = `ac_${randomUUID()}`;
  ({ log, alarms, close: closeLog } = openLog(database.url));
  ({ log: secondLog, close: closeSecondLog } = openLog(database.url));
});
afterEach(async () => {
  await Promise.all([closeLog(), closeSecondLog()]);
  expect(alarms).toEqual([]);
});

interface Extent {
  events: number;
  newest: number;
  head: number;
  streams: number;
}

async function extent(): Promise<Extent> {
  const { rows } = await sql.query(
    `select count(*)::int as events, coalesce(max(position), 0)::int as newest, count(distinct stream_id)::int as streams,
       (select size::int from log_heads where account_id = $1) as head from events where account_id = $1`,
    [account],
  );
  return rows[0];
}

const inOtherProcess = async (...args: string[]): Promise<string[]> => {
  const script = new URL('./support/race-writer.mjs', import.meta.url).pathname;
  const { stdout } = await run(process.execPath, [script, database.url, account, ...args]);
  return JSON.parse(stdout);
};

/** Holds the account's head, so that every append of the account waits until `release`. */
async function holdHead(): Promise<{ release: () => Promise<void> }> {
  const holder = new pg.Client(database.url);
  await holder.connect();
  await holder.query('begin');
  await holder.query('select size from log_heads where account_id = $1 for update', [account]);
  return {
    release: async () => {
      await holder.query('commit');
      await holder.end();
    },
  };
}

async function waitingBackend(): Promise<number> {
  for (;;) {
    const { rows } = await sql.query(
      `select pid from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database() and query like '%log_heads%'`,
    );
    if (rows.length > 0) return rows[0].pid;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** The answer to an append that was committed but not answered, and that is sent again after something else happened. */
async function sentAgainAfter(append: Append, meanwhile: () => Promise<unknown>): Promise<Appended> {
  const proxy = await startSwallowingProxy(database.url);
  const behindProxy = openLog(proxy.url, 1);
  try {
    await behindProxy.log.append(appendOf(account, newEvent('s_0', 1)));
    proxy.swallowNextAnswer();
    const answer = behindProxy.log.append(append);
    while (proxy.swallowed === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    proxy.goAway();
    await meanwhile();
    proxy.comeBack();
    return await answer;
  } finally {
    await behindProxy.close();
    await proxy.close();
  }
}

describe('appending', () => {
  it('by 32 concurrent writers loses no event and leaves no gap', async () => {
    const positions: number[] = [];
    const writer = async (n: number): Promise<void> => {
      for (let version = 1; version <= 40; version += 1) {
        const { position } = await log.append(appendOf(account, newEvent(`s_${n}`, version)));
        positions.push(position);
      }
    };
    await Promise.all(Array.from({ length: 32 }, (_, n) => writer(n)));
    expect(positions.sort((a, b) => a - b)).toEqual(Array.from({ length: 1280 }, (_, i) => i + 1));
    expect(await extent()).toEqual({ events: 1280, newest: 1280, head: 1280, streams: 32 });
  });

  it('by two processes at once loses no event and leaves no gap', async () => {
    const other = inOtherProcess('append', 'other', '32', '20');
    while ((await extent()).events === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    const writer = async (n: number): Promise<void> => {
      for (let version = 1; version <= 20; version += 1)
        await log.append(appendOf(account, newEvent(`s_${n}`, version)));
    };
    await Promise.all(Array.from({ length: 32 }, (_, n) => writer(n)));
    expect(count(await other, 'ok')).toBe(640);
    expect(await extent()).toEqual({ events: 1280, newest: 1280, head: 1280, streams: 64 });
  });

  it('answers each command with the position of its own last event', async () => {
    const appends = Array.from({ length: 50 }, (_, n) =>
      appendOf(account, newEvent(`s_${n}`, 1), newEvent(`s_${n}`, 2)),
    );
    const positions = await Promise.all(appends.map(async (a) => (await log.append(a)).position));
    const { rows } = await sql.query(
      'select stream_id, max(position)::int as position from events where account_id = $1 group by 1',
      [account],
    );
    expect(rows).toHaveLength(50);
    for (const row of rows) expect(positions[Number(row.stream_id.slice(2))]).toBe(row.position);
  });

  it('gives recorded_at strictly increasing times in the order of positions, even if the clock steps back', async () => {
    await log.append(appendOf(account, newEvent('s_1', 1)));
    await sql.query(`update log_heads set recorded_at = now() + interval '1 hour' where account_id = $1`, [account]);
    await Promise.all(Array.from({ length: 20 }, (_, n) => log.append(appendOf(account, newEvent(`t_${n}`, 1)))));
    const { rows } = await sql.query(
      `select bool_and(later) as increasing from (
         select recorded_at > lag(recorded_at) over (order by position) as later from events where account_id = $1) t`,
      [account],
    );
    expect(rows[0].increasing).toBe(true);
    const { rows: heads } = await sql.query(
      `select h.recorded_at = (select max(recorded_at) from events where account_id = $1) as same from log_heads h
       where account_id = $1`,
      [account],
    );
    expect(heads[0].same).toBe(true);
  });

  it('stores the leaf hash of the bytes it stores', async () => {
    const occurredAt = new Date('2026-02-03T04:05:06.789Z');
    await log.append(appendOf(account, newEvent('s_1', 1, { occurredAt })));
    const { rows } = await sql.query(
      `select *, (extract(epoch from recorded_at) * 1000000)::bigint as recorded_us from events where account_id = $1`,
      [account],
    );
    const [e] = rows;
    const text = (value: string): string => `${Buffer.byteLength(value)}:${value},`;
    const leaf =
      `\0${text(account)}1,${text('s_1')}1,${e.event_id},${text('tested.v1')}` +
      `${text(e.data)}${text(e.metadata)}${occurredAt.getTime() * 1000},${e.recorded_us},`;
    expect(e.leaf_hash.toString('hex')).toBe(createHash('sha256').update(leaf).digest('hex'));
  });

  it('for one account does not wait for another', async () => {
    await log.append(appendOf(account, newEvent('s_1', 1)));
    const held = await holdHead();
    const waiting = log.append(appendOf(account, newEvent('s_1', 2)));
    await expect(log.append(appendOf(`${account}_other`, newEvent('s_1', 1)))).resolves.toMatchObject({ position: 1 });
    await held.release();
    await expect(waiting).resolves.toMatchObject({ position: 2 });
  });
});

describe('racing for one stream version', () => {
  const streams = Array.from({ length: 8 }, (_, n) => `s_${n}`);

  it('8 x 32 identical appends win exactly 8 times', async () => {
    const outcomes = await outcomesOf(
      streams.flatMap((stream) => Array.from({ length: 32 }, () => log.append(appendOf(account, newEvent(stream, 1))))),
    );
    expect([count(outcomes, 'ok'), count(outcomes, 'StreamConflict')]).toEqual([8, 248]);
    expect(await extent()).toEqual({ events: 8, newest: 8, head: 8, streams: 8 });
  });

  it('has one winner each over two processes', async () => {
    const rivals = await Promise.all([1, 2].map(() => inOtherProcess('race', streams.join(','), '16')));
    const outcomes = rivals.flat();
    expect([count(outcomes, 'ok'), count(outcomes, 'StreamConflict')]).toEqual([8, 248]);
    expect(await extent()).toEqual({ events: 8, newest: 8, head: 8, streams: 8 });
  });
});

describe('racing to begin one entity', () => {
  it('has one winner, who writes its row too', async () => {
    const rivals = Array.from({ length: 8 }, () => openLog(database.url, 1));
    const id = `ak_${randomUUID()}`;
    const begin = (n: number) => apiKeyAppend(account, newEvent(id, 1), [], [apiKeyRow(account, id, `${id}-${n}`)]);
    const outcomes = await outcomesOf(rivals.map((rival, n) => rival.log.append(begin(n))));
    await Promise.all(rivals.map(({ close }) => close()));
    expect([count(outcomes, 'ok'), count(outcomes, 'StreamConflict')]).toEqual([1, 7]);
    expect(await extent()).toEqual({ events: 1, newest: 1, head: 1, streams: 1 });
  });
});

describe('a batch', () => {
  it('with a conflict, a repeated event and a taken value among good commands gives each command its own answer', async () => {
    const repeated = newEvent('s_repeated', 1);
    const first = apiKeyAppend(account, newEvent('ak_1', 1), [], [apiKeyRow(account, 'ak_1', account)]);
    await log.append(appendOf(account, newEvent('s_old', 1)));
    await log.append(appendOf(account, repeated));
    await log.append(first);

    const answers = await Promise.allSettled([
      log.append(appendOf(account, newEvent('s_good', 1))),
      log.append(appendOf(account, newEvent('s_old', 1))),
      log.append(appendOf(account, repeated)),
      log.append(apiKeyAppend(account, newEvent('ak_2', 1), [], [apiKeyRow(account, 'ak_2', account)])),
      log.append(appendOf(account, newEvent('s_bad', 1, { eventId: 'not a uuid' }))),
      log.append(appendOf(account, newEvent('s_good2', 1))),
    ]);
    expect(answers).toMatchObject([
      { value: { position: 4, isDuplicate: false } },
      { reason: { name: 'StreamConflict' } },
      { value: { position: 2, isDuplicate: true } },
      { reason: { name: 'ConstraintViolated', constraint: 'api_keys_token_hash' } },
      { reason: { code: '22P02' } },
      { value: { position: 5, isDuplicate: false } },
    ]);
    expect(await extent()).toEqual({ events: 5, newest: 5, head: 5, streams: 5 });
  });

  it('keeps the texts of its events apart, whatever characters their callers sent', async () => {
    const controlCharacters = String.fromCharCode(...Array(0x20).keys());
    const texts = [controlCharacters, 'plain, {braced}, "quoted" \\ and NULL', '\u007f\u009f', ''];
    const appends = texts.map((text, n) => {
      const event = { type: 'tested.v1', data: { text } };
      return appendOf(account, newEvent(`s_${n}`, 1, { event, metadata: { actor: 'system', user_agent: text } }));
    });
    await Promise.all(appends.map((append) => log.append(append)));
    const { rows } = await sql.query('select data, metadata from events where account_id = $1 order by position', [
      account,
    ]);
    const stored = texts.map((text) => ({ data: { text }, metadata: { actor: 'system', user_agent: text } }));
    expect(rows).toEqual(
      stored.map(({ data, metadata }) => ({ data: JSON.stringify(data), metadata: JSON.stringify(metadata) })),
    );
  });

  it('of a new and a changed entity writes the rows of both', async () => {
    const changed = apiKeyRow(account, `ak_${randomUUID()}`, `${account}-1`);
    const added = apiKeyRow(account, `ak_${randomUUID()}`, `${account}-2`);
    await log.append(apiKeyAppend(account, newEvent(`${changed.id}`, 1), [], [changed]));
    const appends = [
      apiKeyAppend(account, newEvent(`${changed.id}`, 2), [changed], [{ ...changed, metadata: 'changed' }]),
      apiKeyAppend(account, newEvent(`${added.id}`, 1), [], [added]),
    ];
    expect(await outcomesOf(appends.map((append) => log.append(append)))).toEqual(['ok', 'ok']);
    const { rows } = await sql.query('select id, metadata from api_keys where account_id = $1 order by token_hash', [
      account,
    ]);
    expect(rows).toEqual([
      { id: changed.id, metadata: 'changed' },
      { id: added.id, metadata: '' },
    ]);
  });

  it('never holds two commands that share a value: one frees it, the next takes it, in the order of arrival', async () => {
    const put = apiKeyRow(account, 'ak_1', `${account}-token`);
    await log.append(apiKeyAppend(account, newEvent('ak_1', 1), [], [put]));
    const taken = { ...put, id: 'ak_2' };
    await Promise.all([
      log.append(apiKeyAppend(account, newEvent('ak_1', 2), [put], [])),
      log.append(apiKeyAppend(account, newEvent('ak_2', 1), [], [taken])),
    ]);
    const { rows } = await sql.query('select id from api_keys where account_id = $1', [account]);
    expect(rows).toEqual([{ id: 'ak_2' }]);
  });

  it('of two accounts that take the same values in opposite order loses no command', async () => {
    const other = `${account}_other`;
    const tokens = Array.from({ length: 40 }, (_, n) => `${account}-${n}`);
    const take = (owner: string, ordered: string[]) =>
      ordered.map((token) => {
        const id = `ak_${token}`;
        return log.append(apiKeyAppend(owner, newEvent(id, 1), [], [apiKeyRow(owner, id, token)]));
      });
    const outcomes = await outcomesOf([...take(account, tokens), ...take(other, [...tokens].reverse())]);
    expect([count(outcomes, 'ok'), count(outcomes, 'ConstraintViolated')]).toEqual([40, 40]);
  });
});

describe('a value that belongs to one account', () => {
  const other = () => `${account}_other`;
  const create = (by: string, value: string): Append => {
    const id = `ak_${randomUUID()}`;
    return apiKeyAppend(by, newEvent(id, 1), [], [apiKeyRow(by, id, id, value)]);
  };

  it('is refused to the new entities of other accounts alone, whatever else is in their batch', async () => {
    const [taken, free, third] = [`${account}-taken`, `${account}-free`, `${account}-third`];
    await log.append(create(other(), taken));
    const creates = [taken, free, free, taken, third].map((value) => log.append(create(account, value)));
    const outcomes = await outcomesOf([...creates, log.append(appendOf(account, newEvent('s_1', 1)))]);
    expect(outcomes).toEqual(['ClaimRefused', 'ok', 'ok', 'ClaimRefused', 'ok', 'ok']);
    expect(await extent()).toEqual({ events: 4, newest: 4, head: 4, streams: 4 });
  });

  it('is named once when it is refused, however many claim it and however often the other account has it', async () => {
    const values = ['"quoted"\u001f', 'plain'].map((text) => `${account}-${text}`);
    const [, taken = ''] = values;
    for (const _ of [1, 2]) await log.append(create(other(), taken));
    const batch = [...values, taken].map((value) => prepareAppend(create(account, value), Number.POSITIVE_INFINITY));
    const { text, values: parameters } = appendStatement(account, batch);
    const { rows } = await sql.query(text, [...parameters]);
    expect(rows).toEqual([{ base: null, refused: `key:${taken}` }]);
    expect(await extent()).toMatchObject({ events: 0 });
  });

  it('is not refused to the own entity whose create was committed, if only the answer was lost', async () => {
    const value = `${account}-value`;
    await log.append(create(other(), `${account}-other`));
    const give = () =>
      sql.query(`update claims set value = 'key:' || $2, exclusive = false where account_id = $1`, [other(), value]);
    expect(await sentAgainAfter(create(account, value), give)).toEqual({ position: 2, isDuplicate: false });
    expect(await extent()).toMatchObject({ events: 2 });
  });

  it('is got by one of two accounts that begin with it at once, on two instances', async () => {
    const values = Array.from({ length: 40 }, (_, n) => `${account}-${n}`);
    const all = [...values, ...values.toReversed()];
    const appends = all.flatMap((value) => [
      log.append(create(account, value)),
      secondLog.append(create(other(), value)),
    ]);
    const outcomes = await outcomesOf(appends);
    const winners = new Map(values.map((value) => [value, new Set<number>()]));
    for (const [n, outcome] of outcomes.entries()) if (outcome === 'ok') winners.get(all[n >> 1] ?? '')?.add(n % 2);
    expect([...winners.values()].map(({ size }) => size)).toEqual(values.map(() => 1));
    expect(new Set(outcomes)).toEqual(new Set(['ok', 'ClaimRefused']));
  });

  it('is free once the last entity of its account is gone, whatever was written at once', async () => {
    const value = `${account}-value`;
    const rows = Array.from({ length: 40 }, (_, n) =>
      apiKeyRow(account, `ak_${account}_${n}`, `${account}_${n}`, value),
    );
    const instances = [log, secondLog];
    const append = (n: number, one: Append) => (instances[n % 2] as EventLog).append(one);
    const make = (row: Row, n: number) => append(n, apiKeyAppend(account, newEvent(`${row.id}`, 1), [], [row]));
    const end = (row: Row, n: number) => append(n, apiKeyAppend(account, newEvent(`${row.id}`, 2), [row], []));
    const [first = [], rest = []] = [rows.slice(0, 20), rows.slice(20)];
    await Promise.all(first.map(make));
    await Promise.all([...first.map((row, n) => end(row, n + 1)), ...rest.map(make)]);
    const holders = async () => (await sql.query('select holders from claims where value = $1', [`key:${value}`])).rows;
    expect(await holders()).toEqual([{ holders: 20 }]);
    await expect(log.append(create(other(), value))).rejects.toThrow(ClaimRefused);
    await Promise.all(rest.map(end));
    expect(await holders()).toEqual([]);
    await log.append(create(other(), value));
  });

  it('does not hinder changes of the entities that have it, when two accounts got it at once', async () => {
    const id = `ak_${randomUUID()}`;
    const row = apiKeyRow(account, id, id, `${account}-shared`);
    await log.append(apiKeyAppend(account, newEvent(id, 1), [], [row]));
    await log.append(create(other(), `${account}-other`));
    const shares = `insert into claims select value, $2, 1, false from claims where account_id = $1`;
    await sql.query(shares, [account, other()]);
    await log.append(apiKeyAppend(account, newEvent(id, 2), [row], [{ ...row, version: 2 }]));
    expect(await extent()).toMatchObject({ events: 2 });
  });
});

describe('an append that was decided before rights were taken', () => {
  /** An event of a type that takes rights, in the stream of a principal. */
  const taking = (streamId: string, version: number): Append => {
    const append = appendOf(account, newEvent(streamId, version));
    const events = { 'tested.v1': { takesRights: true } } as const;
    return { ...append, streams: append.streams.map((stream) => ({ ...stream, model: { ...stream.model, events } })) };
  };
  const decidedAt = (rightsPosition: number, append: Append): Append => ({ ...append, rightsPosition });

  it('writes nothing; others of its batch do, and so does the service itself', async () => {
    await log.append(appendOf(account, newEvent('s_0', 1)));
    expect(await log.append(taking('usr_1', 1))).toMatchObject({ position: 2 });
    const held = await holdHead();
    const first = log.append(appendOf(account, newEvent('s_0', 2)));
    await waitingBackend();
    const rest = [0, 2, 1, 2].map((position, n) =>
      log.append(decidedAt(position, appendOf(account, newEvent(`t_${n}`, 1)))),
    );
    rest.push(log.append(appendOf(account, newEvent('t_system', 1))));
    await held.release();
    await first;
    expect(await outcomesOf(rest)).toEqual(['RightsTaken', 'ok', 'RightsTaken', 'ok', 'ok']);
    expect(await extent()).toEqual({ events: 6, newest: 6, head: 6, streams: 5 });
  });

  it('is refused in the batch that takes them if they are of its own principal, not if they are of another', async () => {
    await log.append(appendOf(account, newEvent('s_0', 1)));
    const by = (actor: string, id: string): Append =>
      decidedAt(0, appendOf(account, newEvent(id, 1, { metadata: { actor, api_key_id: `ak_of_${actor}` } })));
    const appends = [by('usr_1', 's_1'), taking('usr_1', 1), by('usr_1', 's_2'), by('usr_2', 's_3')];
    expect(await outcomesOf(appends.map((append) => log.append(append)))).toEqual(['ok', 'ok', 'RightsTaken', 'ok']);
    const key = [taking('ak_of_usr_2', 1), decidedAt(3, by('usr_2', 's_4'))];
    expect(await outcomesOf(key.map((append) => log.append(append)))).toEqual(['ok', 'RightsTaken']);
  });

  it('writes nothing beside one that claims what another account has; both get their own answer', async () => {
    const claiming = (by: string): Append => {
      const id = `ak_${randomUUID()}`;
      return apiKeyAppend(by, newEvent(id, 1), [], [apiKeyRow(by, id, id, `${account}-claimed`)]);
    };
    await log.append(claiming(`${account}_other`));
    await log.append(taking('usr_1', 1));
    const appends = [
      decidedAt(1, claiming(account)),
      decidedAt(0, appendOf(account, newEvent('s_1', 1))),
      decidedAt(1, appendOf(account, newEvent('s_2', 1))),
    ];
    const outcomes = await outcomesOf(appends.map((append) => log.append(append)));
    expect(outcomes).toEqual(['ClaimRefused', 'RightsTaken', 'ok']);
    expect(await extent()).toMatchObject({ events: 2 });
  });

  it('is acknowledged if it was committed before, and only its answer was lost', async () => {
    const append = decidedAt(0, appendOf(account, newEvent('s_1', 1)));
    const answer = await sentAgainAfter(append, () => log.append(taking('usr_1', 1)));
    expect(answer).toEqual({ position: 2, isDuplicate: false });
    expect(await extent()).toEqual({ events: 3, newest: 3, head: 3, streams: 3 });
  });
});

describe('when the connection is lost', () => {
  it('while an append waits, the append is sent again and is in the log once', async () => {
    await log.append(appendOf(account, newEvent('s_1', 1)));
    const held = await holdHead();
    const append = log.append(appendOf(account, newEvent('s_1', 2)));
    await sql.query('select pg_terminate_backend($1)', [await waitingBackend()]);
    await held.release();
    await expect(append).resolves.toEqual({ position: 2, isDuplicate: false });
    expect(await extent()).toEqual({ events: 2, newest: 2, head: 2, streams: 1 });
  });

  it('after the commit but before the answer, the append is acknowledged and is in the log once', async () => {
    const proxy = await startSwallowingProxy(database.url);
    const behindProxy = openLog(proxy.url, 1);
    try {
      await behindProxy.log.append(appendOf(account, newEvent('s_0', 1)));
      proxy.swallowNextAnswer();
      const answers = await Promise.all(
        [1, 2, 3].map((n) => behindProxy.log.append(appendOf(account, newEvent(`s_${n}`, 1)))),
      );
      expect(proxy.swallowed).toBe(1);
      expect(answers).toEqual([2, 3, 4].map((position) => ({ position, isDuplicate: false })));
      expect(await extent()).toEqual({ events: 4, newest: 4, head: 4, streams: 4 });
    } finally {
      await behindProxy.close();
      await proxy.close();
    }
  });

  it('does not mistake the event of another request with the same Idempotency-Key for its own', async () => {
    const proxy = await startSwallowingProxy(database.url);
    const behindProxy = openLog(proxy.url, 1);
    try {
      await behindProxy.log.append(appendOf(account, newEvent('s_0', 1)));
      const eventId = randomUUID();
      const request = (id: string) =>
        newEvent(`s_${id}`, 1, { eventId, metadata: { actor: 'usr_1', idempotency_key: 'k', operation_id: id } });
      proxy.swallowNextAnswer();
      const answers = await Promise.all(
        [request('a'), request('b')].map((event) => behindProxy.log.append(appendOf(account, event))),
      );
      expect(proxy.swallowed).toBe(1);
      expect(answers).toEqual([
        { position: 2, isDuplicate: false },
        { position: 2, isDuplicate: true },
      ]);
      expect(await extent()).toEqual({ events: 2, newest: 2, head: 2, streams: 2 });
    } finally {
      await behindProxy.close();
      await proxy.close();
    }
  });
});

describe('history', () => {
  it.each([
    ['UPDATE', `update events set data = '{}'`],
    ['an UPDATE of nothing', 'update events set data = data where false'],
    ['DELETE', 'delete from events'],
    ['TRUNCATE', 'truncate events'],
  ])('refuses %s', async (_, statement) => {
    await log.append(appendOf(account, newEvent('s_1', 1)));
    await expect(sql.query(statement)).rejects.toThrow('events are append-only');
    expect(await extent()).toMatchObject({ events: 1 });
  });
});
