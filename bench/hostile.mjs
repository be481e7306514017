/**
 * Measures what another client of the gateway notices during an attack, against a quiet gateway: the time of an answer
 * through its tunnel, the time of a login, and the memory of the gateway. Each attack runs in its own process.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import ssh2 from 'ssh2';
import { API_KEY, freePort, startService } from './programs.mjs';

const TOKEN = 'a-gateway-token-for-the-bench';
const HOST = '127.0.0.1';
const ATTACKER = new URL('./hostile-client.mjs', import.meta.url).pathname;
const CLI = new URL('../dist/src/operator/cli.js', import.meta.url).pathname;
const SECONDS = 6;
const PING_EVERY_MS = 5;
const LOGIN_EVERY_MS = 100;
/** The p99 of fewer would be the slowest one. */
const MIN_LOGINS = 100;
const MAX_FACTOR = 5;
const MAX_MB = 512;

function quantile(times, part) {
  const sorted = times.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** A client whose tunnels echo. */
function logIn(port, privateKey) {
  const client = new ssh2.Client();
  client.on('tcp connection', (_, accept) => {
    const channel = accept();
    channel.on('data', (bytes) => channel.write(bytes)).on('error', () => undefined);
  });
  return new Promise((resolve, reject) => {
    client.once('ready', () => resolve(client)).on('error', reject);
    // With Nagle's algorithm the client itself would wait 40 ms.
    const sock = connect({ host: HOST, port, noDelay: true });
    client.connect({ sock, username: 'any', privateKey, readyTimeout: 20_000 });
  });
}

/** Measures answers and logins of another client for some seconds. */
async function feel(sshPort, echoPort, privateKey) {
  const [pings, logins] = [[], []];
  let failed = 0;
  let isOver = false;
  const until = performance.now() + SECONDS * 1_000;
  const socket = connect({ host: HOST, port: echoPort, noDelay: true });
  await once(socket, 'connect');
  const ping = async () => {
    while (!isOver) {
      const begin = performance.now();
      socket.write('x');
      await once(socket, 'data');
      pings.push(performance.now() - begin);
      await sleep(PING_EVERY_MS);
    }
  };
  const enter = async () => {
    while (performance.now() < until || logins.length + failed < MIN_LOGINS) {
      const begin = performance.now();
      try {
        (await logIn(sshPort, privateKey)).end();
        logins.push(performance.now() - begin);
      } catch {
        failed += 1;
      }
      await sleep(LOGIN_EVERY_MS);
    }
    isOver = true;
  };
  await Promise.all([ping(), enter()]);
  socket.destroy();
  return { ping: quantile(pings, 0.99), login: quantile(logins, 0.99), failed };
}

const residentMb = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;

/** @returns {Promise<{what: string, measured: string, goal: string, ok: boolean}[]>} */
export async function run() {
  const folder = mkdtempSync(join(tmpdir(), 'bench-hostile-'));
  const service = await startService({ GATEWAY_TOKENS: TOKEN });
  const programs = [];
  try {
    return await measure(folder, service, programs);
  } finally {
    for (const program of programs) program.kill('SIGKILL');
    await service.stop();
    await service.clean();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function credential(folder, service, name) {
  const file = join(folder, name);
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
  const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ public_key: readFileSync(`${file}.pub`, 'utf8') });
  const response = await fetch(`${service.url}/ssh_credentials`, { method: 'POST', headers, body });
  if (response.status !== 201) throw new Error(await response.text());
  return file;
}

async function startGateway(folder, service) {
  const port = await freePort();
  const child = spawn(process.execPath, [CLI, 'gateway'], {
    env: {
      PATH: process.env.PATH,
      SERVICE_URL: service.url,
      GATEWAY_TOKEN: TOKEN,
      GATEWAY_LISTEN: `${HOST}:${port}`,
      GATEWAY_HOST_KEY: join(folder, 'host_key'),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let isReady = false;
  await new Promise((resolve, reject) => {
    child.stdout.on('data', (text) => {
      isReady ||= String(text).includes('is ready at');
      if (isReady) resolve();
    });
    child.once('exit', () => reject(new Error('the gateway ended')));
  });
  return { child, port };
}

async function measure(folder, service, programs) {
  const [hostile, own] = [await credential(folder, service, 'hostile'), await credential(folder, service, 'own')];
  const privateKey = readFileSync(own);
  const names = JSON.parse(execFileSync(process.execPath, [ATTACKER, '--list', '0', own], { encoding: 'utf8' }));
  const wanted = process.env.ATTACK;
  const rows = [];
  for (const name of names.filter((each) => wanted === undefined || each.includes(wanted))) {
    // Each attack gets a new gateway, so that its memory is not that of an earlier attack.
    const { child, port } = await startGateway(folder, service);
    programs.push(child);
    const client = await logIn(port, privateKey);
    client.on('error', () => undefined);
    const echo = await new Promise((resolve, reject) =>
      client.forwardIn(HOST, 0, (error, bound) => (error ? reject(error) : resolve(bound))),
    );
    const quiet = await feel(port, echo, privateKey);
    const attacker = spawn(process.execPath, [ATTACKER, name, String(port), hostile], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    programs.push(attacker);
    // A real attacker has another machine, so its work must not take CPU time from the gateway here.
    setPriority(attacker.pid, constants.priority.PRIORITY_LOW);
    await once(attacker.stdout, 'data');
    await sleep(1_000);
    let most = 0;
    const look = setInterval(() => {
      if (child.exitCode === null) most = Math.max(most, residentMb(child.pid));
    }, 100);
    const felt = await Promise.race([feel(port, echo, privateKey), once(child, 'exit').then(() => undefined)]);
    clearInterval(look);
    attacker.kill('SIGKILL');
    child.kill('SIGKILL');
    rows.push(rowOf(name, quiet, felt, most));
  }
  return rows;
}

function rowOf(name, quiet, felt, memory) {
  const goal = `<= ${MAX_FACTOR} x each; <= ${MAX_MB} MB`;
  if (felt === undefined) return { what: name, measured: '0 x: the gateway ended', goal, ok: false };
  const [ping, login] = [felt.ping / quiet.ping, felt.login / quiet.login];
  const worst = `${Math.max(ping, login).toFixed(1)} x at worst`;
  const times = `answers ${ping.toFixed(1)} x (p99 ${felt.ping.toFixed(1)} ms), logins ${login.toFixed(1)} x (p99 ${felt.login.toFixed(0)} ms)`;
  return {
    what: `p99 of a neighbour's answers and logins under: ${name}, against a quiet gateway`,
    measured: `${worst}: ${times}, ${felt.failed} logins failed, ${memory.toFixed(0)} MB`,
    goal,
    ok: ping <= MAX_FACTOR && login <= MAX_FACTOR && felt.failed === 0 && memory <= MAX_MB,
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const { ok, what, measured } of await run())
    console.log(`${ok ? 'ok    ' : 'MISSED'}  ${what}\n          ${measured}`);
}
