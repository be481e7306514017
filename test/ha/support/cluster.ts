import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { Machine, type Program } from './machines.js';
import { until } from './until.js';

const run = promisify(execFile);
const RUN = '/run/ha';
const ETCDS = ['etcd1', 'etcd2', 'etcd3'];
const DATABASES = ['db1', 'db2', 'db3'];
const POSTGRES_PORT = 5432;
const SUPERUSER_PASSWORD = 'superuser-of-the-test';
const SERVICE_PASSWORD = 'service-of-the-test';
const START_PATIENCE_MS = 90_000;

interface Member {
  readonly name: string;
  readonly role: string;
  readonly state: string;
  readonly timeline?: number;
}

/** Three etcd, three PostgreSQL with Patroni, and a haproxy, each on a machine of its own, with the files of docs/failover. */
export class Cluster {
  private readonly programs = new Map<string, Program>();

  private constructor(private readonly machines: ReadonlyMap<string, Machine>) {}

  static async start(): Promise<Cluster> {
    const machines = new Map<string, Machine>();
    for (const [n, name] of ETCDS.entries()) machines.set(name, await Machine.add(name, 21 + n));
    for (const [n, name] of DATABASES.entries()) machines.set(name, await Machine.add(name, 11 + n));
    machines.set('haproxy', await Machine.add('haproxy', 31));
    const cluster = new Cluster(machines);
    for (const name of ETCDS) await cluster.startEtcd(name);
    for (const name of DATABASES) await cluster.startDatabase(name);
    await cluster.startHaproxy();
    await cluster.healthy();
    await cluster.sql(`create role tunnel_access login password '${SERVICE_PASSWORD}'`);
    await cluster.sql('create database tunnel_access owner tunnel_access');
    return cluster;
  }

  machine(name: string): Machine {
    const machine = this.machines.get(name);
    if (machine === undefined) throw new Error(`there is no machine ${name}`);
    return machine;
  }

  /** DATABASE_URL by way of haproxy. */
  readonly throughHaproxy = databaseUrl(['haproxy']);
  /** DATABASE_URL of all databases. */
  readonly severalHosts = databaseUrl(DATABASES);

  async startEtcd(name: string): Promise<void> {
    const dataDir = await this.privateFolder(name, 'etcd');
    this.programs.set(
      name,
      this.machine(name).start('etcd', [
        'etcd',
        `--name=${name}`,
        `--data-dir=${dataDir}/data`,
        '--listen-client-urls=http://0.0.0.0:2379',
        `--advertise-client-urls=http://${name}:2379`,
        '--listen-peer-urls=http://0.0.0.0:2380',
        `--initial-advertise-peer-urls=http://${name}:2380`,
        `--initial-cluster=${ETCDS.map((one) => `${one}=http://${one}:2380`).join(',')}`,
        '--log-level=warn',
      ]),
    );
  }

  async startDatabase(name: string): Promise<void> {
    const folder = await this.privateFolder(name, 'postgres');
    const config = (await documented('patroni.yml')).replaceAll('db1', name).replaceAll('/var/lib/postgresql', folder);
    await writeFile(`${folder}/patroni.yml`, config);
    const passwords = {
      PATRONI_SUPERUSER_PASSWORD: SUPERUSER_PASSWORD,
      PATRONI_REPLICATION_PASSWORD: 'replication-of-the-test',
    };
    const env = { HOME: folder, ...passwords };
    this.programs.set(name, this.machine(name).start('postgres', ['patroni', `${folder}/patroni.yml`], env));
  }

  private async startHaproxy(): Promise<void> {
    await writeFile(`${RUN}/haproxy.cfg`, await documented('haproxy.cfg'));
    const haproxy = this.machine('haproxy').start('haproxy', ['haproxy', '-db', '-f', `${RUN}/haproxy.cfg`]);
    this.programs.set('haproxy', haproxy);
  }

  private async privateFolder(name: string, user: string): Promise<string> {
    const folder = `${RUN}/${name}`;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await run('chown', [user, folder]);
    return folder;
  }

  /** The primary that Patroni's leases name at this moment. */
  async primary(): Promise<string> {
    const leader = (await this.members()).find(({ role, state }) => role === 'leader' && state === 'running');
    if (leader === undefined) throw new Error('there is no primary');
    return leader.name;
  }

  /** The standby that confirms commits. */
  async synchronousStandby(): Promise<string> {
    const standby = (await this.members()).find(({ role }) => role === 'sync_standby');
    if (standby === undefined) throw new Error('there is no synchronous standby');
    return standby.name;
  }

  /** Waits until every database runs, one as the primary and another as its synchronous standby. */
  async healthy(): Promise<void> {
    await until(
      'the databases are one primary and two standbys',
      START_PATIENCE_MS,
      () => this.isHealthy(),
      () => this.explain(),
    );
  }

  private async isHealthy(): Promise<boolean> {
    const members = await this.members();
    const roles = members.filter(({ state }) => state === 'running' || state === 'streaming').map(({ role }) => role);
    const timelines = new Set(members.map(({ timeline }) => timeline));
    return roles.toSorted().join() === 'leader,replica,sync_standby' && timelines.size === 1;
  }

  /** What a database that is not cut off says about all of them. */
  private async members(): Promise<readonly Member[]> {
    for (const name of DATABASES) {
      const answer = await fetchOrUndefined(`http://${name}:8008/cluster`);
      if (answer?.ok) return ((await answer.json()) as { members: Member[] }).members;
    }
    return [];
  }

  /** The etcd that leads the other two. */
  async etcdLeader(): Promise<string> {
    const { stdout } = await run(
      'etcdctl',
      ['endpoint', 'status', '--write-out=fields', `--endpoints=${ETCDS.map((one) => `${one}:2379`)}`],
      {
        env: { PATH: process.env.PATH, ETCDCTL_API: '3' },
      },
    );
    const statuses = stdout
      .trim()
      .split('\n\n')
      .map((block) => ({
        endpoint: /"Endpoint" : "(\w+):/.exec(block)?.[1],
        member: /"MemberID" : (\d+)/.exec(block)?.[1],
        leader: /"Leader" : (\d+)/.exec(block)?.[1],
      }));
    const leader = statuses.find(({ member, leader }) => member !== undefined && member === leader)?.endpoint;
    if (leader === undefined) throw new Error(`etcd has no leader:\n${stdout}`);
    return leader;
  }

  async switchover(): Promise<void> {
    const primary = await this.primary();
    const standby = await this.synchronousStandby();
    await run(
      'patronictl',
      ['-c', `${RUN}/${primary}/patroni.yml`, 'switchover', '--force', '--master', primary, '--candidate', standby],
      {
        env: { PATH: process.env.PATH, LANG: 'C.UTF-8' },
      },
    );
  }

  /** Runs a statement on the primary as its superuser. */
  async sql(statement: string, database = 'postgres'): Promise<string> {
    const env = { PATH: process.env.PATH, PGPASSWORD: SUPERUSER_PASSWORD };
    const args = ['-h', 'haproxy', '-U', 'postgres', '-d', database, '-v', 'ON_ERROR_STOP=1', '-Atc', statement];
    return (await run('psql', args, { env })).stdout.trim();
  }

  /** The last lines of every program, for a failed test. */
  explain = (): string =>
    [...this.programs]
      .map(([name, { output }]) => `== ${name}\n${output().split('\n').slice(-15).join('\n')}`)
      .join('\n');
}

/** How long a lease of the primary lasts. */
export async function leaseMs(): Promise<number> {
  return Number(/ttl: (\d+)/.exec(await documented('patroni.yml'))?.[1]) * 1000;
}

const documented = (file: string): Promise<string> =>
  readFile(new URL(`../../../docs/failover/${file}`, import.meta.url), 'utf8');

const databaseUrl = (hosts: readonly string[]): string =>
  `postgres://tunnel_access:${SERVICE_PASSWORD}@${hosts.map((host) => `${host}:${POSTGRES_PORT}`).join()}/tunnel_access`;

async function fetchOrUndefined(url: string): Promise<Response | undefined> {
  try {
    return await fetch(url, { signal: AbortSignal.timeout(1000) });
  } catch {
    return undefined;
  }
}
