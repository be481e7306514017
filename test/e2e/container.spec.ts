import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { REPOSITORY, textOf } from '../support/documents.js';
import { freePort } from '../support/free-port.js';
import { PostgresServer } from '../support/postgres-server.js';
import { startMain, stopMain } from '../support/process.js';

/** There is no Docker on the machines of the tests: what the containers run is run here, with their settings. */
const run = promisify(execFile);
const PASSWORD = 'p@ss/w#rd:%41';
const DOCKERFILE = textOf('Dockerfile');
const COMPOSE = textOf('docker-compose.yml');

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const compose = (settings: Record<string, string>): Promise<Ended> =>
  run('docker-compose', ['--file', 'docker-compose.yml', 'config'], {
    cwd: REPOSITORY,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...settings },
  }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );

describe('docker-compose.yml', () => {
  it('names no password: without POSTGRES_PASSWORD it says what to do', async () => {
    const { code, stderr } = await compose({});
    expect(code).toBe(1);
    const advice =
      'put a line POSTGRES_PASSWORD=... into the file .env, for example with the output of openssl rand -hex 24';
    expect(stderr.trim().endsWith(advice)).toBe(true);
  });

  it('signs the logs unless it is told not to: without CHECKPOINT_KEY it says what to do', async () => {
    const { code, stderr } = await compose({ POSTGRES_PASSWORD: PASSWORD });
    expect([code, stderr]).toEqual([1, expect.stringContaining('put a line CHECKPOINT_KEY=... into the file .env')]);
  });

  it('is valid, and keeps its four containers running', async () => {
    const { code, stdout } = await compose({
      POSTGRES_PASSWORD: PASSWORD,
      CHECKPOINT_KEY: 'off',
      COMPOSE_PROFILES: 'gateway,caddy',
    });
    expect(code).toBe(0);
    expect(stdout.match(/restart: unless-stopped/g)).toHaveLength(4);
    expect(stdout.match(/^ {4}image:|^ {4}build:/gm)).toHaveLength(4);
  });

  it('has its password in a file that neither a commit nor an image takes', () => {
    for (const file of ['.gitignore', '.dockerignore']) expect(textOf(file).split('\n')).toContain('.env');
  });
});

describe('Dockerfile', () => {
  it('copies and runs files that exist', () => {
    const copied = [...DOCKERFILE.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = '']) =>
      files.split(' '),
    );
    expect(copied.length).toBeGreaterThan(6);
    expect([...copied, 'dist/src/main.js'].filter((file) => !existsSync(join(REPOSITORY, file)))).toEqual([]);
    expect(DOCKERFILE).toContain('CMD ["node", "dist/src/main.js"]');
  });
});

describe('the service with the settings of its container', () => {
  let server: PostgresServer;
  let url: string;
  let port: string;
  let main: ReturnType<typeof startMain>;

  beforeAll(async () => {
    server = await PostgresServer.primary();
    await requirePassword(server);
    const { stdout } = await compose({ POSTGRES_PASSWORD: PASSWORD, CHECKPOINT_KEY: await madeKey() });
    const settings = settingsOf(stdout, 'service');
    port = String(await freePort('127.0.0.1'));
    main = startMain({
      ...settings,
      DATABASE_URL: settings.DATABASE_URL?.replace('@database:5432', `@127.0.0.1:${server.port}`) ?? '',
      PORT: port,
    });
    url = await main.url;
  });
  afterAll(async () => {
    await stopMain(main);
    await server.kill();
  });

  it('authenticates to the database with the password, whatever characters it has', async () => {
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
  });

  it('signs its logs with the key that was made for it', async () => {
    const { checkpoints } = (await (await fetch(`${url}/readyz`)).json()) as { readonly checkpoints: string };
    expect(checkpoints).toBe('on');
  });

  it('is healthy by HEALTHCHECK at its PORT, and not at a port where it does not listen', async () => {
    expect(await healthcheck({ PORT: port })).toBe(0);
    expect(await healthcheck({ PORT: String(await freePort('127.0.0.1')) })).toBe(1);
  });

  it('stays healthy while the database is away, since a restart would not bring it back', async () => {
    await server.kill();
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    expect(await healthcheck({ PORT: port })).toBe(0);
  });
});

/** The key that the command in the first lines of docker-compose.yml makes. */
async function madeKey(): Promise<string> {
  const [, command = ''] = /^#\s+(echo "CHECKPOINT_KEY=.*") >> \.env$/m.exec(COMPOSE) ?? [];
  return (await run('sh', ['-c', command])).stdout.trim().replace('CHECKPOINT_KEY=', '');
}

/** Runs the command as Docker does: without a shell. */
async function healthcheck(settings: Record<string, string>): Promise<number> {
  const [, command = '[]'] = /^HEALTHCHECK [^\n]*\\\n +CMD (\[.*\])$/m.exec(DOCKERFILE) ?? [];
  const [program = '', ...args]: string[] = JSON.parse(command);
  return run(program, args, { env: { PATH: process.env.PATH, ...settings } }).then(
    () => 0,
    ({ code }) => code,
  );
}

/** The environment of one service, as `docker-compose config` prints it. */
function settingsOf(config: string, service: string): Record<string, string> {
  const [, block = ''] = new RegExp(`\\n  ${service}:\\n((?: {4}.*\\n)+)`).exec(config) ?? [];
  const [, environment = ''] = / {4}environment:\n((?: {6}.*\n)+)/.exec(block) ?? [];
  const entries = [...environment.matchAll(/^ {6}(\w+): (.*)$/gm)];
  return Object.fromEntries(entries.map(([, name = '', value = '']) => [name, value.replace(/^'(.*)'$/, '$1')]));
}

/** The role and the database of the container of PostgreSQL, which admits its role with the password only. */
async function requirePassword(server: PostgresServer): Promise<void> {
  await server.query(`create role tunnel_access login superuser password '${PASSWORD}'`);
  await server.query('create database tunnel_access owner tunnel_access');
  const [{ hba_file }] = await server.query('show hba_file');
  await server.query(`copy (select 'host all tunnel_access 127.0.0.1/32 scram-sha-256') to '${hba_file}'`);
  await server.query('select pg_reload_conf()');
}
