import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { ClientConfig } from 'pg';
import { blocksOf } from '../../support/documents.js';
import { Terminal } from '../../support/terminal.js';
import { DATABASES, ETCDS, findPrimary, findSynchronousStandby, isHealthy } from './leaders.js';
import { Machine, type Program } from './machines.js';
import { until } from './until.js';

const run = promisify(execFile);
const RUN = '/run/ha';
const POSTGRES_PORT = 5432;
const SUPERUSER_PASSWORD = 'superuser-of-the-test';
const REPLICATION_PASSWORD = 'replication-of-the-test';
const SERVICE_PASSWORD = 'service-of-the-test';
const HEALTH_PATIENCE_MS = 240_000;

/** Three etcd and three PostgreSQL with Patroni, each on a machine of its own, with the files of docs/failover. */
export class Cluster {
  private readonly programs = new Map<string, Program>();

  private constructor(private readonly machines: ReadonlyMap<string, Machine>) {}

  static async start(): Promise<Cluster> {
    const machines = new Map<string, Machine>();
    for (const [n, name] of ETCDS.entries()) machines.set(name, await Machine.add(name, 21 + n));
    for (const [n, name] of DATABASES.entries()) machines.set(name, await Machine.add(name, 11 + n));
    const cluster = new Cluster(machines);
    for (const name of ETCDS) await cluster.startEtcd(name);
    for (const name of DATABASES) await cluster.startDatabase(name);
    await cluster.healthy();
    await createDatabase();
    return cluster;
  }

  machine(name: string): Machine {
    const machine = this.machines.get(name);
    if (machine === undefined) throw new Error(`there is no machine ${name}`);
    return machine;
  }

  /** A connection to this database as the superuser. */
  superuserOf = (name: string): ClientConfig => ({ host: name, user: 'postgres', password: SUPERUSER_PASSWORD });

  async startEtcd(name: string): Promise<void> {
    const dataDir = await privateFolder(name, 'etcd');
    const command = [
      'etcd',
      `--name=${name}`,
      `--data-dir=${dataDir}/data`,
      '--listen-client-urls=http://0.0.0.0:2379',
      `--advertise-client-urls=http://${name}:2379`,
      '--listen-peer-urls=http://0.0.0.0:2380',
      `--initial-advertise-peer-urls=http://${name}:2380`,
      `--initial-cluster=${ETCDS.map((one) => `${one}=http://${one}:2380`).join()}`,
      '--log-level=warn',
    ];
    this.start(name, 'etcd', command);
  }

  async startDatabase(name: string): Promise<void> {
    const folder = await privateFolder(name, 'postgres');
    const config = (await documented('patroni.yml')).replaceAll('db1', name).replaceAll('/var/lib/postgresql', folder);
    await writeFile(`${folder}/patroni.yml`, config);
    this.start(name, 'postgres', ['patroni', `${folder}/patroni.yml`], {
      HOME: folder,
      PATRONI_SUPERUSER_PASSWORD: SUPERUSER_PASSWORD,
      PATRONI_REPLICATION_PASSWORD: REPLICATION_PASSWORD,
    });
  }

  private start(machine: string, user: string, command: readonly string[], env: Record<string, string> = {}): void {
    this.programs.set(machine, this.machine(machine).start(user, command, env));
  }

  /** Waits until everything is whole again. */
  healthy(): Promise<void> {
    return until('the databases are a primary and two standbys', HEALTH_PATIENCE_MS, isHealthy, () => this.explain());
  }

  async switchover(): Promise<void> {
    const [primary, standby] = [await findPrimary(), await findSynchronousStandby()];
    const args = ['switchover', '--force', '--master', primary, '--candidate', standby];
    const env = { PATH: process.env.PATH, LANG: 'C.UTF-8' };
    await run('patronictl', ['-c', `${RUN}/${primary}/patroni.yml`, ...args], { env });
  }

  /** The last lines of every program, for a failed test. */
  explain = (): string =>
    [...this.programs]
      .map(([name, { output }]) => `== ${name}\n${output().split('\n').slice(-15).join('\n')}`)
      .join('\n');
}

/** A folder for the programs of a machine. */
export async function privateFolder(name: string, user: string): Promise<string> {
  const folder = `${RUN}/${name}`;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await run('chown', [user, folder]);
  return folder;
}

/** How long a lease of the primary lasts. */
export async function leaseMs(): Promise<number> {
  return Number(/ttl: (\d+)/.exec(await documented('patroni.yml'))?.[1]) * 1000;
}

/** By the commands of docs/failover.md, on the primary as its superuser. */
async function createDatabase(): Promise<void> {
  const superuser = { PGHOST: await findPrimary(), PGUSER: 'postgres', PGPASSWORD: SUPERUSER_PASSWORD };
  const env = { PATH: process.env.PATH ?? '', ...superuser, PASSWORD: SERVICE_PASSWORD };
  const terminal = Terminal.open({ cwd: RUN, env });
  await terminal.runAll(blocksOf('failover-database'));
  await terminal.close();
}

export const documented = (file: string): Promise<string> =>
  readFile(new URL(`../../../docs/failover/${file}`, import.meta.url), 'utf8');

/** DATABASE_URL of the service. */
export const databaseUrl = (host: string, port = POSTGRES_PORT): string =>
  `postgres://tunnel_access:${SERVICE_PASSWORD}@${host}:${port}/tunnel_access?sslmode=disable`;

/** The line of PgBouncer's file of users. */
export const USER_OF_THE_SERVICE = `"tunnel_access" "${SERVICE_PASSWORD}"\n`;
