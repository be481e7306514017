import { beforeAll, describe, expect, it } from '@jest/globals';
import { PostgresServer } from '../support/postgres-server.js';
import { logLines, runCli, startMain } from '../support/process.js';

/** What an operator reads if the database refuses the service. No line more: a line about waiting would come first. */
const PASSWORD = 'p%/?#@ü:secret';
let server: PostgresServer;

beforeAll(async () => {
  server = await PostgresServer.primary();
  for (const name of ['service', 'read_only', 'closed']) await server.query(`create database ${name}`);
  await server.query(`create role by_password login password '${PASSWORD}'`);
  await server.query('grant create on database service to by_password');
  await server.query('grant all on schema public to by_password', 'service');
  await server.query('alter database read_only set default_transaction_read_only = on');
  await server.query('revoke connect on database closed from public');
  await server.trust(
    'host all by_password 127.0.0.1/32 scram-sha-256',
    'host all not_there 127.0.0.1/32 trust',
    'host all postgres 127.0.0.1/32 trust',
  );
});

const urlOf = (login: string, database = 'service', host = server.host): string =>
  `postgres://${login}@${host}/${database}?sslmode=disable`;
const encoded = `by_password:${encodeURIComponent(PASSWORD)}`;

describe('a database that cannot be used is a sentence with the way out, at once:', () => {
  it.each<[string, () => string, RegExp]>([
    [
      'a wrong password',
      () => urlOf('by_password:secret'),
      /password authentication failed .*; correct the user and the password in DATABASE_URL$/,
    ],
    [
      'no password',
      () => urlOf('by_password'),
      /password must be a .*; the server asks for a password; add it to DATABASE_URL$/,
    ],
    ['an unknown role', () => urlOf('not_there'), /role "not_there" does not exist; make the role/],
    [
      'a role that pg_hba.conf does not have',
      () => urlOf('stranger'),
      /no pg_hba.conf entry for .*; make the role, and allow the connection in the server's pg_hba.conf/,
    ],
    [
      'an unknown database',
      () => urlOf(encoded, 'typo'),
      /database "typo" does not exist; create the database, or correct/,
    ],
    [
      'no right to connect',
      () => urlOf(encoded, 'closed'),
      /permission denied for database "closed"; give the role the rights that docs\/database.md names/,
    ],
    [
      'a read-only database',
      () => urlOf('postgres', 'read_only'),
      /the server is read-only .*; set default_transaction_read_only=off/,
    ],
    [
      'an unknown host',
      () => urlOf('postgres', 'service', 'host.invalid'),
      /ENOTFOUND host.invalid; no such host; correct its name in DATABASE_URL$/,
    ],
  ])('%s', async (_, url, sentence) => {
    const { code, stdout, stderr } = await runCli({ DATABASE_URL: url() }, 'api-keys', 'create');
    expect([code, stdout]).toEqual([3, '']);
    expect(stderr).toMatch(/^the database cannot be used: [^\n]*\n$/);
    expect(stderr.trimEnd()).toMatch(sentence);
    expect(stderr).not.toContain('secret');
  });

  it('also if MIGRATION_DATABASE_URL leads there', async () => {
    const settings = { DATABASE_URL: urlOf(encoded), MIGRATION_DATABASE_URL: urlOf('by_password:secret') };
    expect(await runCli(settings, 'migrate')).toEqual({
      code: 3,
      stdout: '',
      stderr: expect.stringMatching(
        /^the target is [^\n]*\nthe database cannot be used: [^\n]*; correct [^\n]* in MIGRATION_DATABASE_URL\n$/,
      ),
    });
  });

  it.each<[string, () => string]>([
    ['a read-only database', () => urlOf('postgres', 'read_only')],
    ['an unknown host', () => urlOf('postgres', 'service', 'host.invalid')],
  ])('also at the start: %s', async (_, url) => {
    const main = startMain({ DATABASE_URL: url() });
    const { code } = await main.ended;
    const sentence = expect.stringMatching(/^the database cannot be used: [^\n]*$/);
    expect([code, logLines(main).map(({ msg }) => msg)]).toEqual([3, [sentence]]);
  });
});

describe('a password with signs that a URL cannot hold', () => {
  it.each(['%', '%zz', '%2', '/', '?', '#', '%ff'])(
    'is refused as it stands, with %s in it, without an echo',
    async (sign) => {
      const { code, stderr } = await runCli(
        { DATABASE_URL: urlOf(`by_password:secret${sign}secret`) },
        'accounts',
        'list',
      );
      expect(code).toBe(2);
      expect(stderr).toMatch(/^DATABASE_URL [^\n]* as %25 %2F %3F %23 %40; for example: [^\n]*\n$/);
      expect(stderr).not.toContain('secret');
    },
  );

  it('works in its encoded form', async () => {
    expect(await runCli({ DATABASE_URL: urlOf(encoded) }, 'migrate')).toMatchObject({ code: 0 });
  });
});
