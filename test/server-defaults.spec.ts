import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { ApiClient } from './support/api-client.js';
import { newPublicKey } from './support/keys.js';
import { AUDIENCE, newSigningKey, TestIssuer } from './support/oidc-issuer.js';
import { asServer } from './support/outside/server.mjs';
import { runCli } from './support/process.js';
import { emptyDatabase, startCopy, type TestDatabase } from './support/service.js';

/** A statement waits so long, and idle connections with it. */
const LONGER_THAN_DEFAULTS_MS = 600;

let database: TestDatabase;
const made = async (options?: string): Promise<void> => {
  database = await emptyDatabase(options);
};
afterEach(() => database.drop());

/** Sets a default of the database, as its administrator. */
const setDefault = (setting: string): Promise<void> =>
  asServer(
    String(process.env.TEST_POSTGRES_URL),
    `alter database ${new URL(database.url).pathname.slice(1)} set ${setting}`,
  );

describe('a database with defaults of its own', () => {
  beforeEach(() => made());

  const SETTINGS = [
    'statement_timeout = 300',
    'lock_timeout = 300',
    'idle_in_transaction_session_timeout = 1',
    'idle_session_timeout = 300',
    'standard_conforming_strings = off',
  ];
  it(`such as ${SETTINGS.join(', ')} is migrated and served as any other`, async () => {
    for (const setting of SETTINGS) await setDefault(setting);
    const service = await startCopy({ databaseUrl: database.url });
    const metadata = String.raw`a\b'c`;
    const holder = new pg.Client({
      connectionString: database.url,
      options: '-c idle_in_transaction_session_timeout=0',
    });
    await holder.connect();
    await holder.query('begin; lock table events in share mode');
    const answer = service.admin.post('/ssh_credentials', { public_key: newPublicKey(), metadata });
    await sleep(LONGER_THAN_DEFAULTS_MS);
    await holder.query('commit');
    await holder.end();
    const { body, status } = await answer;
    expect([status, body.metadata]).toEqual([201, metadata]);
    const { body: found } = await service.admin.get(`/ssh_credentials/${body.id}/events`);
    expect(found.events).toHaveLength(1);
    await service.stop();
  });

  it('is refused if its search_path leads to no schema, with the statement that helps', async () => {
    await setDefault('search_path = "$user"');
    const settings = { DATABASE_URL: database.url };
    const migrated = await runCli(settings, 'migrate');
    const lack =
      /the search_path '"\$user"' names no schema that the role postgres may use: .* (alter role postgres in database \w+ set search_path = public)/;
    expect(migrated).toMatchObject({ code: 3, stderr: expect.stringMatching(lack) });
    expect((await runCli(settings, 'doctor')).stdout).toMatch(new RegExp(`^wrong +version +${lack.source}`, 'm'));
    await asServer(String(process.env.TEST_POSTGRES_URL), lack.exec(migrated.stderr)?.[1] ?? '');
    expect((await runCli(settings, 'migrate')).code).toBe(0);
  });
});

it('two spellings of one email address are one user, in a Turkish database and for OpenID Connect too', async () => {
  await made(`template template0 encoding 'UTF8' locale_provider icu icu_locale 'tr-TR' locale 'C'`);
  const issuer = await TestIssuer.start(await newSigningKey('es-1'));
  const service = await startCopy({ databaseUrl: database.url }, { oidcIssuer: issuer.url, oidcAudience: AUDIENCE });
  const post = (email: string) => service.admin.post('/users', { email });
  expect([(await post('INFO@example.test')).status, (await post('info@example.test')).status]).toEqual([201, 409]);
  const client = new ApiClient(service.app.url, await issuer.sign({ email: 'info@EXAMPLE.test' }));
  expect((await client.get('/ssh_credentials')).status).toBe(200);
  await service.stop();
  await issuer.stop();
});
