import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { beforeAll, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.js';
import { stopAtEnd } from '../support/leftovers.js';
import { askNames, serveProgram } from '../support/names.js';
import { OwnGateway } from '../support/own-gateway.js';
import { addAccount } from '../support/principals.js';
import type { Service } from '../support/service.js';
import { logIn, newKeyPair } from '../support/ssh-client.js';

/** Visitors of one name must not slow down those of another account. */
const AUTOCANNON = new URL('../../node_modules/autocannon/autocannon.js', import.meta.url).pathname;
const IDLE = 10_000;
const MEASURED_SECONDS = 5;
const MAX_RATIO = 5;
const FLOODED = 'flooded.example.test';
const NEIGHBOUR = 'neighbour.example.test';
let trial: OwnGateway;
let port: number;

async function serve(client: Service['admin'], name: string): Promise<void> {
  const { port: target } = await serveProgram((asked, response) => {
    asked.resume();
    if (asked.url !== '/endless') return void response.end('hello');
    const send = (): void => {
      while (response.write(Buffer.alloc(65_536)));
    };
    response.on('drain', send);
    send();
  });
  const key = await newKeyPair();
  expect((await client.post('/ssh_credentials', { public_key: key.publicKey })).status).toBe(201);
  expect((await logIn(trial.port, key, '-R', `${name}:80:127.0.0.1:${target}`)).isOpen).toBe(true);
}

beforeAll(async () => {
  port = await freePort('127.0.0.1');
  // The visitors of the flood come from another address than the neighbour's, and need no rate.
  trial = await OwnGateway.start({
    httpListen: { host: '127.0.0.1', port },
    maxConnectionsPerSecond: 0,
    maxChannels: 20_000,
    maxEdgeConnections: 20_000,
  });
  await serve(trial.service.admin, FLOODED);
  await serve((await addAccount(trial.service)).client, NEIGHBOUR);
});

/** The 99th percentile of the neighbour's answers, in milliseconds. */
async function measured(): Promise<number> {
  const options = ['-c', '4', '-d', String(MEASURED_SECONDS), '-R', '200', '-H', `host=${NEIGHBOUR}`, '--json'];
  const child = spawn(process.execPath, [AUTOCANNON, ...options, `http://127.0.0.1:${port}/`]);
  let output = '';
  child.stdout.on('data', (data: Buffer) => {
    output += data;
  });
  await once(child, 'close');
  const { latency, non2xx, errors } = JSON.parse(output);
  expect([non2xx, errors]).toEqual([0, 0]);
  return latency.p99;
}

/** A process of visitors of the flooded name. Resolves when they are there. */
async function visitors(script: string): Promise<ChildProcess> {
  const head = `const { connect } = require('node:net');
    const open = () => connect({ port: ${port}, host: '127.0.0.1', localAddress: '127.0.0.2' }).on('error', () => {});
    const HEAD = ' HTTP/1.1\\r\\nHost: ${FLOODED}\\r\\n';`;
  const child = spawn(process.execPath, ['-e', head + script], { stdio: ['ignore', 'pipe', 'inherit'] });
  stopAtEnd(async () => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

it('a slow reader, an endless body and 10,000 idle visitors of a name do not slow down a neighbour', async () => {
  await measured();
  const alone = await measured();
  await visitors(`let left = ${IDLE};
    let answered = 0;
    const next = () => {
      if (left === 0) return;
      left -= 1;
      const socket = open();
      socket.write('GET /' + HEAD + '\\r\\n');
      const answer = (data) => {
        if (!String(data).startsWith('HTTP/1.1 200')) return;
        answered += 1;
        if (answered === ${IDLE}) console.log('there');
        next();
      };
      // Who is closed is not idle: then fewer than all are there, and the test waits in vain.
      socket.once('data', answer);
    };
    for (let n = 0; n < 50; n += 1) next();`);
  await visitors(`const socket = open(); socket.pause(); socket.write('GET /endless' + HEAD + '\\r\\n');
    setTimeout(() => console.log('there'), 1000);`);
  await visitors(`const socket = open(); socket.write('POST /' + HEAD + 'Transfer-Encoding: chunked\\r\\n\\r\\n');
    const chunk = Buffer.concat([Buffer.from('10000\\r\\n'), Buffer.alloc(65536), Buffer.from('\\r\\n')]);
    const send = () => { while (socket.write(chunk)); };
    socket.on('drain', send); send(); setTimeout(() => console.log('there'), 1000);`);
  const beside = await measured();
  expect(await askNames(port, FLOODED)).toMatchObject({ status: 200 });
  expect(beside / Math.max(1, alone)).toBeLessThanOrEqual(MAX_RATIO);
}, 240_000);
