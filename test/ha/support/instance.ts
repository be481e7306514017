import { writeFile } from 'node:fs/promises';
import { databaseUrl, documented, privateFolder, USER_OF_THE_SERVICE } from './cluster.js';
import { Machine, type Program } from './machines.js';
import { until } from './until.js';

export const ADMIN_KEY = 'admin-key-of-the-failover-tests';
export const GATEWAY_TOKEN = 'gateway-token-of-the-failover-tests';

const MAIN = new URL('../../../dist/src/main.js', import.meta.url).pathname;
const PORT = 8080;
const PGBOUNCER_PORT = 6432;
const START_PATIENCE_MS = 60_000;

export interface Instance {
  readonly url: string;
  readonly machine: Machine;
  readonly program: Program;
}

/** Both have the files of docs/failover. */
export type Way = 'haproxy' | 'PgBouncer';

/**
 * The service as `npm start` runs it, on a machine of its own that the test reaches past every fault. Beside it runs a haproxy,
 * and PgBouncer before that if it is the way to the database.
 */
export async function startInstance(name: string, host: number, way: Way): Promise<Instance> {
  const machine = await Machine.add(name, host);
  const address = await machine.addControl();
  await startHaproxy(machine);
  if (way === 'PgBouncer') await startPgBouncer(machine);
  const program = machine.start('root', [process.execPath, MAIN], {
    HOST: address,
    PORT: String(PORT),
    DATABASE_URL: databaseUrl('127.0.0.1', way === 'PgBouncer' ? PGBOUNCER_PORT : undefined),
    // PgBouncer of Debian 12 is 1.18.
    PREPARED_STATEMENTS: String(way !== 'PgBouncer'),
    BOOTSTRAP_API_KEY: ADMIN_KEY,
    GATEWAY_TOKENS: GATEWAY_TOKEN,
  });
  await until(
    `the instance ${name} is ready`,
    START_PATIENCE_MS,
    async () => program.output().includes('ready at'),
    program.output,
  );
  return { url: `http://${address}:${PORT}`, machine, program };
}

async function startHaproxy(machine: Machine): Promise<void> {
  const folder = await privateFolder(machine.name, 'haproxy');
  await writeFile(`${folder}/haproxy.cfg`, await documented('haproxy.cfg'));
  machine.start('haproxy', ['haproxy', '-db', '-f', `${folder}/haproxy.cfg`]);
}

async function startPgBouncer(machine: Machine): Promise<void> {
  const folder = await privateFolder(`${machine.name}-pgbouncer`, 'postgres');
  const config = (await documented('pgbouncer.ini')).replaceAll('/etc/pgbouncer', folder);
  await writeFile(`${folder}/pgbouncer.ini`, config);
  await writeFile(`${folder}/userlist.txt`, USER_OF_THE_SERVICE);
  machine.start('postgres', ['pgbouncer', `${folder}/pgbouncer.ini`]);
}
