import { expect, it, jest } from '@jest/globals';
import { inDatabase } from '../support/backups.js';
import { frozenFile, frozenLogs } from '../support/frozen-logs.js';
import { PostgresServer } from '../support/postgres-server.js';
import { runCli } from '../support/process.js';
import { cloneDatabase } from '../support/service.js';

jest.setTimeout(120_000);

const FILE = frozenFile(frozenLogs().at(-1) ?? '', 'log.ndjson');

const versionOf = (url: string): Promise<string> =>
  inDatabase(url, async (client) => (await client.query('show server_version')).rows[0].server_version);

it('two versions of PostgreSQL with the same log have the same digests of their tables', async () => {
  const server = await PostgresServer.primary();
  await server.query(
    `create database "other" template template0 locale_provider icu icu_locale 'de-DE' locale 'C.UTF-8'`,
  );
  const [here, there] = [await cloneDatabase(), { url: server.url('other') }];
  expect(await runCli({ DATABASE_URL: there.url }, 'migrate')).toMatchObject({ code: 0 });
  const printed: string[] = [];
  for (const { url } of [here, there]) {
    expect(await runCli({ DATABASE_URL: url }, 'audit', 'import', FILE)).toMatchObject({ code: 0 });
    const { code, stdout } = await runCli({ DATABASE_URL: url }, 'projections', 'prove', '--digest');
    expect(code).toBe(0);
    printed.push(stdout);
  }
  expect(printed[0]).toMatch(/^tcp_edges\tall accounts\t\d+\t[0-9a-f]{64}$/m);
  expect(printed[1]).toBe(printed[0]);
  const versions = await Promise.all([here, there].map(({ url }) => versionOf(url)));
  expect(new Set(versions).size).toBe(2);
  await here.drop();
});
