import { expect, it } from '@jest/globals';
import { catalogOf, committed } from '../support/catalog.js';
import { startInstance } from '../support/instance.js';
import { PostgresServer } from '../support/postgres-server.js';
import { runCli } from '../support/process.js';

it('the catalog of Debian’s PostgreSQL is the one of the embedded server, also after pg_dump and a restore', async () => {
  const server = await PostgresServer.primary();
  for (const name of ['service', 'restored']) await server.query(`create database ${name}`);
  await (await startInstance(server.url('service'))).stop();
  expect((await catalogOf(server.url('service'))).split('\n')).toEqual(committed());
  await server.copy('service', 'restored');
  expect((await catalogOf(server.url('restored'))).split('\n')).toEqual(committed());
  expect(await runCli({ DATABASE_URL: server.url('restored') }, 'audit', 'verify')).toMatchObject({
    code: 0,
    stderr: expect.not.stringContaining('the schema has'),
  });
});
