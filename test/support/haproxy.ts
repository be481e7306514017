import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { stopAtEnd } from './leftovers.js';

/** The folder of haproxy is not in the PATH of an ordinary user. */
const PATH = `${process.env.PATH}:/usr/sbin`;

/**
 * Starts a real haproxy before a port of this machine. `server`: options of the server line. Returns the haproxy's
 * port.
 */
export async function startHaproxy(target: number, server: string, ...lines: readonly string[]): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'tas-haproxy-'));
  const port = await freePort('127.0.0.1');
  const file = join(folder, 'haproxy.cfg');
  await writeFile(
    file,
    `defaults
  mode tcp
  timeout connect 5s
  timeout client 1m
  timeout server 1m
  timeout check 5s
listen ssh
  bind 127.0.0.1:${port}
${lines.map((line) => `  ${line}\n`).join('')}  server gateway 127.0.0.1:${target} ${server}
`,
  );
  const child = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore', env: { PATH } });
  const ended = once(child, 'close');
  stopAtEnd(async () => {
    child.kill();
    await ended;
    await rm(folder, { recursive: true, force: true });
  });
  await eventually(async () => {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.destroy();
  });
  return port;
}
