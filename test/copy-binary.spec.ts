import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import { codecOf } from '../src/database/column-codecs.js';
import { FieldReader, RowBytes } from '../src/database/copy-binary.js';
import { CopyIn } from '../src/database/copy-in.js';
import { copyOut } from '../src/database/copy-out.js';
import { StringCache } from '../src/database/string-cache.js';
import { emptyDatabase } from './support/service.js';

let database: Awaited<ReturnType<typeof emptyDatabase>>;
let client: pg.Client;
beforeAll(async () => {
  database = await emptyDatabase();
  client = new pg.Client(database.url);
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

/** Characters that some code treats specially: every blank of Unicode, every control character but U+0000, quotes, a mark. */
const SPECIAL = [
  ...Array.from({ length: 0xffff }, (_, code) => String.fromCharCode(code + 1)).filter((c) =>
    /[\s\p{Zs}\p{Cc}]/u.test(c),
  ),
  ...'{}[]",:;\\\'NULnul\u200b\u180e\u2060é😀',
];
const special = fc.array(fc.constantFrom(...SPECIAL), { maxLength: 6 }).map((characters) => characters.join(''));
const any = fc.oneof(
  special,
  fc.string({ unit: 'grapheme' }),
  fc.string({ minLength: 12, maxLength: 20 }),
  fc.constantFrom('null', 'NULL', '\\N', '\\.'),
);

/** Encodes each value as a row of one field, with our own codec. */
function encoded(type: string, values: readonly unknown[]): Buffer[] {
  return values.map((value) => {
    const row = new RowBytes(100);
    row.beginRow(1);
    if (value === null) row.null();
    else codecOf(type)?.write(value, row);
    return row.take();
  });
}

async function rowsOf(query: string, from = client): Promise<Buffer[]> {
  const rows: Buffer[] = [];
  for await (const { bytes, starts, ends } of copyOut(from, query)) {
    for (const [i, end] of ends.entries()) rows.push(Buffer.from(bytes.subarray(starts[i], end)));
  }
  return rows;
}

function decoded(type: string, row: Buffer): unknown {
  const fields = new FieldReader(row);
  fields.beginRow(0);
  return fields.value((bytes, start, end) => codecOf(type)?.read(bytes, start, end)) ?? null;
}

/** Sends the values as parameters and by COPY, and expects COPY to return the bytes that our codec makes. */
async function expectSameBytes(type: string, values: readonly unknown[]): Promise<void> {
  await client.query(`create temporary table held (n int generated always as identity, value ${type})`);
  const parameters = values.map((value) => (type === 'jsonb' && value !== null ? JSON.stringify(value) : value));
  for (const parameter of parameters) await client.query('insert into held (value) values ($1)', [parameter]);
  const ours = encoded(type, values);
  const copy = new CopyIn(client, 'held', ['value']);
  for (const row of ours) await copy.write(row);
  await copy.end();
  const theirs = await rowsOf('select value from held order by n');
  const { rows } = await client.query(
    `select a.n from held a join held b on b.n = a.n + $1 where a.value is distinct from b.value`,
    [values.length],
  );
  await client.query('drop table held');
  expect(theirs.slice(0, values.length)).toEqual(ours);
  expect(rows).toEqual([]);
  expect(theirs.map((row) => decoded(type, row))).toEqual([...values, ...values]);
}

const time = fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });
const COMMON: [string, fc.Arbitrary<unknown>][] = [
  ['text', any],
  ['boolean', fc.boolean()],
  ['integer', fc.integer()],
  ['bigint', fc.maxSafeInteger()],
  ['timestamp with time zone', time.map((date) => date.toISOString())],
  ['text[]', fc.array(any)],
  ['jsonb', fc.dictionary(any, fc.oneof(any, fc.integer(), fc.boolean(), fc.constant(null), fc.array(any)))],
];

describe('our rows and PostgreSQL’s rows are the same bytes', () => {
  it.each(['text', 'text[]', 'jsonb'])('agree on %s with each special character', async (type) => {
    const of = (text: string): unknown =>
      ({ text, 'text[]': ['a', text, `a${text}b`], jsonb: { [text]: [text], bb: null, a: { x: text } } })[type];
    await expectSameBytes(type, SPECIAL.map(of));
  });

  it.each(COMMON)('agree on %s with any values and null', async (type, value) => {
    await fc.assert(
      fc.asyncProperty(fc.array(value, { maxLength: 100 }), (some) => expectSameBytes(type, [null, ...some])),
      { numRuns: 10 },
    );
  });

  it('agree on numbers at the limits of exact doubles and beyond', async () => {
    const max = Number.MAX_SAFE_INTEGER;
    await expectSameBytes(
      'bigint',
      [1, 2 ** 32, max, max + 1, max + 3].flatMap((n) => [n, -n]),
    );
    // The last times whose microseconds since 2000 are exact doubles, and the next ones.
    const times = ['2285-06-04T23:47:34.740Z', '2285-06-04T23:47:34.741Z', '1714-07-29T00:12:25.260Z'];
    await expectSameBytes('timestamp with time zone', [...times, '1714-07-29T00:12:25.259Z']);
  });

  it('agree on jsonb without keys, with an empty key, and with keys in another order', async () => {
    await expectSameBytes('jsonb', [
      {},
      { '': 1 },
      { b: 1, a: 2 },
      { a: 2, b: 1 },
      { aa: 1, b: { '': {} } },
      { 10: 1, 9: 2 },
    ]);
  });
});

describe('a cached text', () => {
  const texts = fc.array(
    fc.constantFrom('', 'a', 'b', 'abcd', 'abcde', 'bbcde', 'abce', 'bbcd', 'abcdefg', 'abcdefh', 'é', 'a.v1', 'b.v1'),
  );

  it('equals the text in the bytes', () => {
    fc.assert(
      fc.property(fc.array(texts, { maxLength: 5 }), (batches) => {
        const cache = new StringCache();
        for (const batch of batches) {
          const read = encoded('text', batch).map((row) => {
            const fields = new FieldReader(row);
            fields.beginRow(0);
            return fields.cachedText(cache);
          });
          expect(read).toEqual(batch);
        }
      }),
    );
  });
});

describe('a value that another program wrote into a column', () => {
  it.each([
    ['timestamp with time zone', `'2026-01-02 03:04:05.123456Z'`, '2026-01-02T03:04:05.123456Z'],
    ['timestamp with time zone', `'1999-12-31 23:59:59.999999Z'`, '1999-12-31T23:59:59.999999Z'],
    ['timestamp with time zone', `'2400-01-02 03:04:05.000001Z'`, '2400-01-02T03:04:05.000001Z'],
    ['timestamp with time zone', `'12026-01-02 03:04:05.000001Z'`, '+012026-01-02T03:04:05.000001Z'],
    ['character varying', `'a'`, 'a'],
    ['bigint', `'-9000000000'`, -9_000_000_000],
    ['timestamp with time zone', `'infinity'`, 'infinity'],
    ['timestamp with time zone', `'-infinity'`, '-infinity'],
    ['text[]', `'{a,null}'`, ['a', null]],
    ['text[]', `'{{a,b}}'`, [['a', 'b']]],
    ['text[]', `'[2:3]={a,b}'`, [['a', 'b']]],
    ['jsonb', `'1.0'`, 1],
  ])('is read: %s %s', async (type, sql, value) => {
    const [row] = await rowsOf(`select ${sql}::${type}`);
    expect(decoded(type, row ?? Buffer.of())).toEqual(value);
  });

  it.each([
    ['integer', 2 ** 31],
    ['integer', 1.5],
    ['integer', '1'],
    ['timestamp with time zone', 'yesterday'],
  ])('that is not of the column’s type is refused: %s %j', (type, value) => {
    expect(() => encoded(type, [value])).toThrow(RangeError);
  });
});

describe('a COPY out', () => {
  it('ends without rows, and yields many rows of any size once and in order', async () => {
    expect(await rowsOf('select 1 where false')).toEqual([]);
    const rows = await rowsOf(`select repeat('x', n % 7 * n) from generate_series(1, 3000) n`);
    expect(rows.map((row) => row.length)).toEqual(Array.from({ length: 3000 }, (_, n) => ((n + 1) % 7) * (n + 1) + 6));
  });

  it('makes PostgreSQL wait for a slow reader, and leaves the connection usable', async () => {
    const { rows: backends } = await client.query('select pg_backend_pid() as pid');
    const other = new pg.Client(database.url);
    await other.connect();
    let rows = 0;
    for await (const { ends } of copyOut(client, `select repeat('x', 1000) from generate_series(1, 20000)`)) {
      if (rows === 0) {
        const waits = 'select wait_event from pg_stat_activity where pid = $1';
        await sleep(300);
        expect((await other.query(waits, [backends[0].pid])).rows).toEqual([{ wait_event: 'ClientWrite' }]);
      }
      rows += ends.length;
    }
    await other.end();
    expect(rows).toBe(20_000);
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  it('yields to the event loop between batches, however fast they arrive', async () => {
    let [bytesRead, sinceTurn, maxPerTurn, isOver] = [0, 0, 0, false];
    const turn = (): void => {
      sinceTurn = 0;
      if (!isOver) setImmediate(turn);
    };
    turn();
    for await (const { bytes } of copyOut(client, `select repeat('x', 1000) from generate_series(1, 20000)`)) {
      bytesRead += bytes.length;
      sinceTurn += bytes.length;
      maxPerTurn = Math.max(maxPerTurn, sinceTurn);
      // Work of the reader, during which the next rows arrive.
      for (const until = performance.now() + 1; performance.now() < until; );
    }
    isOver = true;
    expect(bytesRead).toBeGreaterThan(20_000_000);
    expect(maxPerTurn).toBeLessThan(100_000);
  });

  it('that fails midway throws PostgreSQL’s error, and leaves the connection usable', async () => {
    await expect(rowsOf('select 1 / (5000 - n) from generate_series(1, 10000) n')).rejects.toThrow('division by zero');
    await expect(rowsOf('select nonsense')).rejects.toThrow('column "nonsense" does not exist');
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  it('that fails beyond the read-ahead limit leaves the connection usable, too', async () => {
    for (let rows = 950; rows < 1250; rows += 50) {
      const reading = async (): Promise<void> => {
        const query = `select repeat('x', 1000), 1 / (${rows} - n) from generate_series(1, 10000) n`;
        for await (const _ of copyOut(client, query)) await sleep(10);
      };
      await expect(reading()).rejects.toThrow('division by zero');
      expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    }
  });

  it('reads rows of many megabytes', async () => {
    const [row] = await rowsOf(`select repeat('x', 30000000)`);
    expect(row?.length).toBe(30_000_000 + 6);
  });

  it.each([1, 2, 3, 7, 64])('reads messages that arrive in pieces of %d bytes', async (size) => {
    class InPieces extends Socket {
      override push(chunk: Buffer | null): boolean {
        for (let at = 0; chunk !== null && at < chunk.length; at += size) super.push(chunk.subarray(at, at + size));
        return chunk === null ? super.push(null) : true;
      }
    }
    const chopped = new pg.Client({ connectionString: database.url, stream: () => new InPieces() });
    await chopped.connect();
    const whole = await rowsOf('select n, repeat(chr(n), n) from generate_series(1, 100) n');
    expect(await rowsOf('select n, repeat(chr(n), n) from generate_series(1, 100) n', chopped)).toEqual(whole);
    await expect(rowsOf('select 1 / (50 - n) from generate_series(1, 100) n', chopped)).rejects.toThrow('by zero');
    expect(await rowsOf('select 1', chopped)).toHaveLength(1);
    await chopped.end();
  });

  it('ends with its connection', async () => {
    const other = new pg.Client(database.url);
    other.on('error', () => undefined);
    await other.connect();
    const { rows } = await other.query('select pg_backend_pid() as pid');
    const reading = copyOut(other, `select repeat('x', 1000) from generate_series(1, 1000000)`);
    await reading.next();
    await client.query('select pg_terminate_backend($1)', [rows[0].pid]);
    const readOn = async (): Promise<void> => {
      for await (const _ of reading);
    };
    await expect(readOn()).rejects.toThrow(/terminat/i);
  });
});

describe('a COPY in', () => {
  const row = (n: number, size = 0): Buffer => {
    const bytes = new RowBytes(100);
    bytes.beginRow(2);
    bytes.lengthPrefixed(() => bytes.int32(n));
    bytes.text('x'.repeat(size));
    return bytes.take();
  };
  const count = async (): Promise<unknown> =>
    (await client.query('select count(*)::int, coalesce(sum(length(text)), 0)::int as size from filled')).rows[0];
  beforeEach(() => client.query('create temporary table filled (n int primary key, text text not null)'));
  afterEach(() => client.query('drop table filled'));

  it('writes zero rows, and many megabytes of rows', async () => {
    await new CopyIn(client, 'filled', ['n', 'text']).end();
    expect(await count()).toEqual({ count: 0, size: 0 });
    const copy = new CopyIn(client, 'filled', ['n', 'text']);
    for (let n = 0; n < 40; n += 1) await copy.write(row(n, 1_000_000));
    await copy.end();
    expect(await count()).toEqual({ count: 40, size: 40_000_000 });
  });

  it('makes its writer wait for PostgreSQL', async () => {
    const other = new pg.Client(database.url);
    await other.connect();
    await client.query('create table if not exists shared (n int, text text)');
    await other.query('begin; lock table shared');
    const copy = new CopyIn(client, 'shared', ['n', 'text']);
    let written = 0;
    const writing = (async () => {
      for (; written < 20; written += 1) await copy.write(row(written, 1_000_000));
      await copy.end();
    })();
    await sleep(300);
    expect(written).toBeLessThan(2);
    await other.query('commit');
    await writing;
    expect((await client.query('select count(*)::int from shared')).rows).toEqual([{ count: 20 }]);
    await other.end();
  });

  it.each([
    ['at its end', 'duplicate key', [1, 2, 1], 0],
    ['midway', 'duplicate key', Array.from({ length: 60 }, (_, n) => n % 7), 500_000],
  ])(
    'that PostgreSQL refuses %s throws PostgreSQL’s error, and leaves the connection usable',
    async (_, message, rows, size) => {
      const copy = new CopyIn(client, 'filled', ['n', 'text']);
      const copying = async (): Promise<void> => {
        for (const n of rows) await copy.write(row(n, size));
        await copy.end();
      };
      await expect(copying()).rejects.toThrow(message);
      await expect(copy.write(row(9))).rejects.toThrow(message);
      await expect(copy.end()).rejects.toThrow(message);
      expect(await count()).toEqual({ count: 0, size: 0 });
    },
  );

  it('into a missing table throws at the end or at the next write', async () => {
    const copy = new CopyIn(client, 'missing', ['n']);
    await expect(copy.end()).rejects.toThrow('relation "missing" does not exist');
    await expect(copy.write(row(1))).rejects.toThrow('relation "missing" does not exist');
    expect(await count()).toEqual({ count: 0, size: 0 });
  });

  it('ends with its connection', async () => {
    const other = new pg.Client(database.url);
    other.on('error', () => undefined);
    await other.connect();
    await other.query('create temporary table filled (n int, text text)');
    const { rows } = await other.query('select pg_backend_pid() as pid');
    const copy = new CopyIn(other, 'filled', ['n', 'text']);
    await copy.write(row(1));
    await client.query('select pg_terminate_backend($1)', [rows[0].pid]);
    const writeOn = async (): Promise<void> => {
      for (let n = 0; n < 100; n += 1) await copy.write(row(n, 1_000_000));
    };
    await expect(writeOn()).rejects.toThrow(/terminat|EPIPE|ECONNRESET/i);
  });
});
