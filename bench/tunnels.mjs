/**
 * Compares one tunnel of the gateway with one of stock sshd (`ssh -R` of the same OpenSSH client): throughput,
 * connections per second and the time of an answer. Then it measures the memory of 1,000 tunnels with 5,000 connections
 * through an edge. It needs sshd, ssh and root.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import ssh2 from 'ssh2';
import { middle } from './middle.mjs';
import { API_KEY, freePort, startService } from './programs.mjs';

const TOKEN = 'a-gateway-token-for-the-bench';
const ROUNDS = 5;
const SENT = Buffer.alloc(64 * 1024 * 1024, 'x');
const PINGS = 300;
const CONNECT_SECONDS = 2;
const CONNECTIONS_AT_ONCE = 16;
const MANY_TUNNELS = 1_000;
const MANY_CONNECTIONS = 5_000;
const MAX_MIB = 1_024;
const LOGINS_AT_ONCE = 20;
const OPENED_AT_ONCE = 50;

/** A target that answers each small message at once, and the end of a stream with one byte. */
async function startTarget() {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.setNoDelay(true);
    socket.on('error', () => undefined).on('end', () => socket.end('.'));
    socket.on('data', (data) => data.length === 1 && socket.write(data));
  }).listen(0, '127.0.0.1', 4_096);
  await once(server, 'listening');
  return server;
}

/** Starts a program. Resolves once it has printed `ready`. */
async function start(command, args, ready, env = {}) {
  const child = spawn(command, args, { env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env } });
  let output = '';
  await new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data) => {
        output = (output + data).slice(-20_000);
        if (output.includes(ready)) resolve();
      });
    }
    child.on('error', ({ message }) => reject(new Error(`${command} does not start, is it installed? (${message})`)));
    child.on('close', () => reject(new Error(`${command} ended:\n${output}`)));
  });
  const stop = async () => {
    const ended = once(child, 'close');
    child.kill();
    await ended;
  };
  return { pid: child.pid, stop, output: () => output };
}

function startSshd(folder, port) {
  mkdirSync('/run/sshd', { recursive: true });
  writeFileSync(
    join(folder, 'sshd_config'),
    `Port ${port}\nListenAddress 127.0.0.1\nHostKey ${folder}/host\nAuthorizedKeysFile ${folder}/key.pub\nStrictModes no\nUsePAM no
PidFile none\nMaxStartups 100\nPermitRootLogin yes\nAllowTcpForwarding remote\nLogLevel INFO\n`,
  );
  return start('/usr/sbin/sshd', ['-D', '-e', '-f', join(folder, 'sshd_config')], 'Server listening on');
}

const openTunnel = (folder, port, remote, ready) =>
  start(
    'ssh',
    [
      ...['-N', '-v', '-F', 'none', '-p', String(port), '-i', join(folder, 'key'), '-R', remote],
      ...['IdentitiesOnly=yes', 'BatchMode=yes', 'StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null'].flatMap(
        (o) => ['-o', o],
      ),
      'root@127.0.0.1',
    ],
    ready,
  );

async function open(port) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  return socket;
}

async function mibPerSecond(port) {
  const socket = await open(port);
  const begin = performance.now();
  socket.end(SENT);
  await once(socket, 'data');
  return SENT.length / 1024 / 1024 / ((performance.now() - begin) / 1_000);
}

async function pingMs(port) {
  const socket = await open(port);
  const times = [];
  for (let n = 0; n < PINGS; n += 1) {
    const begin = performance.now();
    socket.write('x');
    await once(socket, 'data');
    times.push(performance.now() - begin);
  }
  socket.destroy();
  return middle(times);
}

async function connectionsPerSecond(port) {
  const end = performance.now() + CONNECT_SECONDS * 1_000;
  let count = 0;
  const work = async () => {
    while (performance.now() < end) {
      const socket = await open(port);
      socket.write('x');
      await once(socket, 'data');
      socket.destroy();
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS_AT_ONCE }, work));
  return count / CONNECT_SECONDS;
}

/** The logins per second. Each login is one connection of the library, which ends at once. */
async function loginsPerSecond({ port, privateKey }) {
  const end = performance.now() + CONNECT_SECONDS * 1_000;
  let count = 0;
  const work = async () => {
    while (performance.now() < end) {
      const sock = connect({ port, host: '127.0.0.1', noDelay: true });
      const client = new ssh2.Client();
      await new Promise((resolve, reject) => {
        client.once('ready', resolve).on('error', reject);
        client.connect({ sock, username: 'root', privateKey });
      });
      client.end();
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: LOGINS_AT_ONCE }, work));
  return count / CONNECT_SECONDS;
}

/** Calls `act` for 0 to `count - 1`, at most `atOnce` at the same time. */
async function each(count, atOnce, act) {
  let next = 0;
  const work = async () => {
    for (let n = next++; n < count; n = next++) await act(n);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

const residentMib = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;

/** An SSH client with one tunnel, whose channels echo. */
function login(port, privateKey) {
  const client = new ssh2.Client();
  return new Promise((resolve, reject) => {
    client.on('error', reject);
    client.on('tcp connection', (_, accept) =>
      accept()
        .on('data', function echo(data) {
          this.write(data);
        })
        .on('error', () => undefined),
    );
    client.on('ready', () => client.forwardIn('many=1', 0, (error) => (error ? reject(error) : resolve(client))));
    client.connect({ host: '127.0.0.1', port, username: 'tunnel', privateKey });
  });
}

async function many(gateway, sshPort, edgePort, folder) {
  const before = residentMib(gateway.pid);
  const privateKey = readFileSync(join(folder, 'key'));
  const clients = [];
  await each(MANY_TUNNELS, LOGINS_AT_ONCE, async () => clients.push(await login(sshPort, privateKey)));
  const withTunnels = residentMib(gateway.pid);
  const sockets = [];
  await each(MANY_CONNECTIONS, OPENED_AT_ONCE, async () => {
    const socket = await open(edgePort);
    socket.write('x');
    await once(socket, 'data');
    sockets.push(socket);
  });
  const withAll = residentMib(gateway.pid);
  for (const one of sockets) one.destroy();
  for (const one of clients) one.end();
  return {
    what: `resident memory of the gateway with ${MANY_TUNNELS.toLocaleString('en')} tunnels and ${MANY_CONNECTIONS.toLocaleString('en')} connections through an edge`,
    measured: `${withAll.toFixed(0)} MiB (${withTunnels.toFixed(0)} with the tunnels, ${before.toFixed(0)} before)`,
    goal: `<= ${MAX_MIB} MiB`,
    ok: withAll <= MAX_MIB,
  };
}

async function beside(what, unit, measure, ports, { isTime, goal }) {
  const own = [];
  const stock = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const side of round % 2 === 0 ? ['own', 'stock'] : ['stock', 'own']) {
      (side === 'own' ? own : stock).push(await measure(ports[side]));
    }
  }
  const ratios = own.map((value, n) => (isTime ? stock[n] / value : value / stock[n]));
  const range = `${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)}`;
  const digits = isTime ? 2 : 0;
  return {
    what,
    measured: `${middle(ratios).toFixed(2)} x (${range}; ${middle(own).toFixed(digits)} ${unit} against ${middle(stock).toFixed(digits)} ${unit})`,
    goal: `>= ${goal} x`,
    ok: middle(ratios) >= goal,
  };
}

/** @returns {Promise<{what: string, measured: string, goal: string, ok: boolean}[]>} */
export async function run() {
  const folder = mkdtempSync(join(tmpdir(), 'bench-tunnels-'));
  chmodSync(folder, 0o711);
  for (const name of ['host', 'key'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, name)]);
  const running = [];
  try {
    return await measure(folder, running);
  } finally {
    for (const one of running.toReversed()) await one();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(folder, running) {
  const keep = (program) => {
    running.push(() => program.stop());
    return program;
  };
  const service = await startService({ GATEWAY_TOKENS: TOKEN });
  running.push(async () => {
    await service.stop();
    await service.clean();
  });
  const post = async (path, body) => {
    const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };
    const response = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (response.status !== 201) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()).id;
  };
  const [sshPort, sshdPort, stock, own, manyPort] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  await post('/ssh_credentials', { public_key: readFileSync(join(folder, 'key.pub'), 'utf8') });
  for (const [label, port] of [
    ['bench', own],
    ['many', manyPort],
  ]) {
    const backend_id = await post('/backends/tunnel_group', { labels: { [label]: '1' } });
    await post('/edges/tcp', { hostports: [`127.0.0.1:${port}`], backend: { backend_id } });
  }
  const gateway = keep(
    await start(
      process.execPath,
      [new URL('../dist/src/operator/cli.js', import.meta.url).pathname, 'gateway'],
      'is ready at',
      {
        SERVICE_URL: service.url,
        GATEWAY_TOKEN: TOKEN,
        GATEWAY_LISTEN: `127.0.0.1:${sshPort}`,
        GATEWAY_HOST_KEY: join(folder, 'gateway_key'),
        GATEWAY_MAX_CONNECTIONS: '0',
        GATEWAY_MAX_CHANNELS: '0',
        GATEWAY_MAX_BINDS: '0',
        GATEWAY_MAX_CONNECTIONS_PER_SECOND: '0',
        GATEWAY_MAX_REQUESTS_PER_SECOND: '0',
        GATEWAY_MAX_ACCOUNT_CONNECTIONS: '0',
        GATEWAY_MAX_ACCOUNT_BINDS: '0',
        GATEWAY_EDGE_PORTS: `${own},${manyPort}`,
        GATEWAY_BIND_PORTS: '1024',
      },
    ),
  );
  keep(await startSshd(folder, sshdPort));
  const target = await startTarget();
  running.push(() => target.close());
  const to = `127.0.0.1:${target.address().port}`;
  keep(await openTunnel(folder, sshdPort, `127.0.0.1:${stock}:${to}`, 'remote forward success'));
  keep(await openTunnel(folder, sshPort, `bench=1:0:${to}`, 'Allocated port'));
  const ports = { own, stock };
  for (let tries = 0; tries < 50; tries += 1) {
    const isOpen = await pingMs(own).then(
      () => true,
      () => false,
    );
    if (isOpen) break;
    await sleep(100);
  }
  const rows = [
    await beside('throughput of one tunnel through an edge, against sshd -R', 'MiB/s', mibPerSecond, ports, {
      goal: 0.75,
    }),
    await beside(
      `connections of ${CONNECTIONS_AT_ONCE} clients through an edge, against sshd -R`,
      '/s',
      connectionsPerSecond,
      ports,
      { goal: 0.75 },
    ),
    await beside('time of an answer through an edge, against sshd -R', 'ms', pingMs, ports, {
      isTime: true,
      goal: 0.3,
    }),
  ];
  const privateKey = readFileSync(join(folder, 'key'));
  const logins = { own: { port: sshPort, privateKey }, stock: { port: sshdPort, privateKey } };
  rows.push(await beside('logins, against sshd', '/s', loginsPerSecond, logins, { goal: 0.75 }));
  return [...rows, await many(gateway, sshPort, manyPort, folder)];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  console.table(await run());
}
