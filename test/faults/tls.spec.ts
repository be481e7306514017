import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { readConfig } from '../../src/api/config/config.js';
import { openDatabase } from '../../src/database/database.js';
import { ApiClient } from '../support/api-client.js';
import { PostgresServer, unprivileged } from '../support/postgres-server.js';
import { logLines, startMain, stopMain } from '../support/process.js';
import { makeTlsFiles, type TlsFiles } from '../support/tls-files.js';

/**
 * What sslmode means, against real servers: the table of libpq's documentation, without the modes that may go on without TLS.
 * The certificate is for localhost only, and
 * pg_hba.conf of the servers trusts each role, with TLS, without it, or with a certificate.
 */
let files: TlsFiles;
let other: TlsFiles;
let servers: Record<'tls' | 'plain' | 'tlsOnly' | 'plainOnly' | 'certificates', PostgresServer>;

beforeAll(async () => {
  files = makeTlsFiles('DNS:localhost', 'postgres', unprivileged());
  other = makeTlsFiles('DNS:localhost', 'stranger', unprivileged());
  const tls = [
    'ssl=on',
    `ssl_cert_file=${files.server.cert}`,
    `ssl_key_file=${files.server.key}`,
    `ssl_ca_file=${files.ca}`,
  ];
  servers = {
    tls: await PostgresServer.primary(...tls),
    plain: await PostgresServer.primary(),
    tlsOnly: await PostgresServer.primary(...tls),
    plainOnly: await PostgresServer.primary(...tls),
    certificates: await PostgresServer.primary(...tls),
  };
  await servers.tlsOnly.trust('hostssl all all 127.0.0.1/32 trust');
  await servers.plainOnly.trust('hostnossl all all 127.0.0.1/32 trust');
  await servers.certificates.trust('hostssl all all 127.0.0.1/32 cert');
});

type Kind = keyof typeof servers;

const urlOf = (kind: Kind, parameters: string, host = 'localhost'): string =>
  `postgres://postgres@${host}:${servers[kind].port}/postgres?${parameters}`;

/** Whether the connections of the service are encrypted, or the sentence that it ends with. */
async function connection(kind: Kind, parameters: string, host?: string): Promise<'TLS' | 'plain' | string> {
  const options = { dataDir: '', databasePoolSize: 2, auditReadConnections: 2 };
  const open = openDatabase({ ...options, databaseUrl: urlOf(kind, parameters, host) }, () => undefined);
  const database = await open.catch((error: Error) => error.message);
  if (typeof database === 'string') return database;
  try {
    const { rows } = await database.pool.query('select ssl from pg_stat_ssl where pid = pg_backend_pid()');
    return rows[0].ssl ? 'TLS' : 'plain';
  } finally {
    await database.close();
  }
}

const NO_TLS =
  /^the database cannot be used: The server does not support SSL connections; switch TLS on [^\n]*DATABASE_URL on a network that you trust$/;
const WANTS_TLS =
  /^the database cannot be used: no pg_hba.conf entry .*no encryption; .* where hostssl refuses sslmode=disable$/;
const WANTS_PLAIN = /^the database cannot be used: no pg_hba.conf entry .*SSL encryption; /;
const UNTRUSTED =
  /^the database cannot be used: .*certificate.*; the CA of the server's certificate is not trusted; name its file as sslrootcert in DATABASE_URL$/;
const WRONG_NAME =
  /^the database cannot be used: Hostname\/IP does not match .*; use a host in DATABASE_URL that the server's certificate names/;

describe('sslmode', () => {
  it.each<[string, Kind, string | RegExp]>([
    ['', 'tls', 'plain'],
    ['', 'tlsOnly', WANTS_TLS],
    ['', 'plainOnly', 'plain'],
    ['sslmode=disable', 'tls', 'plain'],
    ['sslmode=disable', 'tlsOnly', WANTS_TLS],
    ['sslmode=require', 'tls', 'TLS'],
    ['sslmode=require', 'plain', NO_TLS],
    ['sslmode=require', 'plainOnly', WANTS_PLAIN],
    ['ssl=true', 'plain', NO_TLS],
    ['sslmode=require&uselibpqcompat=true', 'tls', 'TLS'],
    ['sslmode=verify-full', 'tls', UNTRUSTED],
    ['sslmode=verify-full', 'plain', NO_TLS],
  ])('%s, at a server of the kind %s', async (parameters, kind, expected) => {
    const answer = await connection(kind, parameters);
    if (typeof expected === 'string') expect(answer).toBe(expected);
    else expect(answer).toMatch(expected);
  });

  it.each<[string, string, string, string | RegExp]>([
    ['require, as verify-ca', 'sslmode=require', 'localhost', 'TLS'],
    ['require, as verify-ca', 'sslmode=require', '127.0.0.1', 'TLS'],
    ['verify-ca', 'sslmode=verify-ca', 'localhost', 'TLS'],
    ['verify-ca, which does not compare the name of the host', 'sslmode=verify-ca', '127.0.0.1', 'TLS'],
    ['verify-full', 'sslmode=verify-full', 'localhost', 'TLS'],
    ['verify-full, which compares the name of the host', 'sslmode=verify-full', '127.0.0.1', WRONG_NAME],
  ])('with sslrootcert trusts its CA: %s', async (_, mode, host, expected) => {
    const answer = await connection('tls', `${mode}&sslrootcert=${files.ca}`, host);
    if (typeof expected === 'string') expect(answer).toBe(expected);
    else expect(answer).toMatch(expected);
  });

  it.each(['require', 'verify-ca', 'verify-full'])('%s with sslrootcert trusts no other CA', async (mode) => {
    expect(await connection('tls', `sslmode=${mode}&sslrootcert=${other.ca}`)).toMatch(UNTRUSTED);
  });

  it('with sslcert and sslkey proves who the client is', async () => {
    const { cert, key } = files.client;
    expect(await connection('certificates', `sslmode=require&sslcert=${cert}&sslkey=${key}`)).toBe('TLS');
    expect(await connection('certificates', 'sslmode=require')).toMatch(
      /^the database cannot be used: connection requires a valid client certificate; /,
    );
  });
});

describe('the program', () => {
  // The server refuses every connection without TLS or without the certificate.
  it('migrates and serves over TLS, with its certificate and the CAs of the system', async () => {
    const { cert, key } = files.client;
    const DATABASE_URL = urlOf('certificates', `sslrootcert=system&sslcert=${cert}&sslkey=${key}`);
    const main = startMain({ DATABASE_URL, SSL_CERT_FILE: files.ca, BOOTSTRAP_API_KEY: 'test-admin-key-0123456789' });
    const client = new ApiClient(await main.url, 'test-admin-key-0123456789');
    expect((await client.get('/ssh_credentials')).status).toBe(200);
    await stopMain(main);
  });

  it('ends at once with a sentence if the server has no TLS', async () => {
    const main = startMain({ DATABASE_URL: urlOf('plain', 'sslmode=require') });
    const { code } = await main.ended;
    expect([code, logLines(main).map(({ msg }) => msg)]).toEqual([3, [expect.stringMatching(NO_TLS)]]);
  });
});

describe('a setting of TLS that cannot be', () => {
  let notes: string;
  beforeAll(() => {
    notes = join(files.ca, '..', 'notes.txt');
    writeFileSync(notes, 'no certificate');
  });

  it.each<[string, () => string, string]>([
    ['an unknown mode', () => 'sslmode=yes', 'must have one of these values as sslmode: disable, require, '],
    [
      'a mode that may go on without TLS',
      () => 'sslmode=prefer',
      'must not have sslmode=prefer: write sslmode=require',
    ],
    ['the mode of node-postgres', () => 'sslmode=no-verify', '(instead of no-verify, use require)'],
    ['verify-ca without a CA', () => 'sslmode=verify-ca', 'needs sslrootcert beside sslmode=verify-ca'],
    [
      'a weak mode with the CAs of the system',
      () => 'sslmode=require&sslrootcert=system',
      'must have sslmode=verify-full',
    ],
    [
      'a file that is missing',
      () => 'sslmode=require&sslrootcert=/secret/ca',
      'in sslrootcert that cannot be read (ENOENT)',
    ],
    ['half a certificate', () => `sslmode=require&sslcert=${files.client.cert}`, 'needs both sslcert and sslkey'],
    ['no key', () => `sslmode=require&sslcert=${files.client.cert}&sslkey=${notes}`, 'that OpenSSL refuses'],
    ['a list of revoked certificates', () => `sslmode=require&sslcrl=${notes}`, 'must not have sslcrl'],
  ])('is refused with a sentence: %s', (_, parameters, sentence) => {
    const refusal = (): unknown => readConfig({ DATABASE_URL: urlOf('tls', parameters()) });
    expect(refusal).toThrow(/^DATABASE_URL [^\n]*; for example: postgres:[^\n]*$/);
    expect(refusal).toThrow(sentence);
    expect(refusal).not.toThrow('/secret/ca');
  });
});
