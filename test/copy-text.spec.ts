import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import { copyOut } from '../src/database/copy.js';
import { printerOf } from '../src/database/copy-text.js';
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

/** What printers and parsers treat apart: every blank of Unicode, every control character but U+0000, quotes, and a mark. */
const SPECIAL = [
  ...Array.from({ length: 0xffff }, (_, code) => String.fromCharCode(code + 1)).filter((c) =>
    /[\s\p{Zs}\p{Cc}]/u.test(c),
  ),
  ...'{}[]",:;\\\'NULnul\u200b\u180e\u2060é😀',
];
const special = fc.array(fc.constantFrom(...SPECIAL), { maxLength: 6 }).map((characters) => characters.join(''));
const any = fc.oneof(special, fc.string({ unit: 'grapheme' }), fc.constantFrom('null', 'NULL', '\\N', '\\.'));
const texts = fc.array(any, { minLength: 1, maxLength: 200 });

/** Our print of values held against COPY's of the same values, which go to PostgreSQL as parameters. */
async function expectSamePrint(type: string, values: readonly unknown[]): Promise<void> {
  await client.query(`create temporary table printed (n int, value ${type})`);
  const parameters = type === 'jsonb' ? values.map((value) => JSON.stringify(value)) : values;
  for (const [n, value] of parameters.entries()) await client.query('insert into printed values ($1, $2)', [n, value]);
  const lines: string[] = [];
  for await (const batch of copyOut(client, 'select value from printed order by n')) lines.push(...batch);
  await client.query('drop table printed');
  expect(lines).toEqual(values.map(printerOf(type)));
}

describe('values of ours and of PostgreSQL are printed alike', () => {
  it.each(['text', 'text[]', 'jsonb'])('as %s, each special character by itself', async (type) => {
    const of = (text: string): unknown =>
      ({ text, 'text[]': ['a', text, `a${text}b`], jsonb: { [text]: [text], bb: null, a: { x: text } } })[type];
    await expectSamePrint(type, SPECIAL.map(of));
  });

  it.each([
    ['text', texts],
    ['text[]', fc.array(fc.array(any), { maxLength: 40 })],
    ['jsonb', fc.array(fc.dictionary(any, any), { maxLength: 40 })],
  ])('as %s, any of them together', async (type, values) => {
    await fc.assert(
      fc.asyncProperty(values as fc.Arbitrary<unknown[]>, (some) => expectSamePrint(type, some)),
      { numRuns: 10 },
    );
  });
});
