import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from './free-port.js';
import { stopAtEnd } from './leftovers.js';

/** Fewer sessions than connections, so that consecutive statements of a connection reach different sessions. */
const SESSIONS = 4;

/** Starts PgBouncer in transaction mode before a database on this loopback port. Returns the URL through PgBouncer. */
export async function startPgBouncer(databasePort: number, database: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tas-pgbouncer-'));
  const port = await freePort('127.0.0.1');
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(
    file,
    `[databases]
${database} = host=127.0.0.1 port=${databasePort} dbname=${database} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
admin_users = postgres
default_pool_size = ${SESSIONS}
max_client_conn = 200
`,
  );
  await chmod(folder, 0o755);
  // It refuses to run as root.
  const isRoot = process.getuid?.() === 0;
  const uid = isRoot ? Number(execFileSync('id', ['-u', 'postgres'], { encoding: 'utf8' })) : undefined;
  const child = spawn('/usr/sbin/pgbouncer', [file], { stdio: 'ignore', ...(uid !== undefined && { uid }) });
  stopAtEnd(async () => {
    const ended = child.exitCode === null ? once(child, 'exit') : undefined;
    child.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true, force: true });
  });
  await untilListening(port, () => child.exitCode !== null);
  return `postgres://postgres@127.0.0.1:${port}/${database}`;
}

/** Runs a command of the pooler behind this URL. */
export async function asAdministrator(url: string, command: string): Promise<void> {
  const client = new pg.Client(url.replace(/[^/]+$/, 'pgbouncer'));
  await client.connect();
  await client.query(command);
  await client.end();
}

async function untilListening(port: number, hasEnded: () => boolean): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'close').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isOpen) return;
    if (hasEnded()) throw new Error('PgBouncer did not start');
    await sleep(50);
  }
}
