import { writeFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { inDatabase } from './support/backups.js';
import { CATALOG, catalogOf, committed } from './support/catalog.js';
import { cloneDatabase, emptyDatabase, startCopy } from './support/service.js';

it('migrations/catalog.json is committed as the migrations make it; look at the difference, and accept it with `npm run catalog`', async () => {
  const { url, drop } = await cloneDatabase();
  const made = await catalogOf(url);
  await drop();
  if (process.env.ACCEPT_CATALOG === 'true') writeFileSync(CATALOG, made);
  expect(made.split('\n')).toEqual(committed());
});

it('is the same in a schema of any name, and with any settings of the database', async () => {
  const { url, drop } = await emptyDatabase();
  const name = new URL(url).pathname.slice(1);
  const settings = ['search_path = "My own"', 'intervalstyle = iso_8601', 'quote_all_identifiers = on'];
  const statements = settings.map((setting) => `alter database ${name} set ${setting}`);
  await inDatabase(url, (client) => client.query(['create schema "My own"', ...statements].join('; ')));
  await (await startCopy({ databaseUrl: url })).stop();
  expect((await catalogOf(url, 'My own')).split('\n')).toEqual(committed());
  await drop();
});
