import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from '@jest/globals';
import { requireFreeAddress } from './free-address.js';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function serverAt(host: string, port = 0) {
  const server = createServer().listen(port, host);
  servers.push(server);
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

async function freePort(): Promise<number> {
  const { server, port } = await serverAt('127.0.0.1');
  server.close();
  await once(server, 'close');
  return port;
}

/** Connects until it is told to stop, in a thread of its own: connections of this thread would wait for the check. */
const WAITING_CLIENT = `
  const { connect } = require('node:net');
  const { parentPort, workerData } = require('node:worker_threads');
  let [connected, isStopped] = [0, false];
  const again = () => {
    if (isStopped) return;
    const socket = connect(workerData, '127.0.0.1', () => { connected += 1; socket.destroy(); });
    socket.on('error', () => undefined).on('close', () => setImmediate(again));
  };
  parentPort.once('message', () => { isStopped = true; parentPort.postMessage(connected); });
  for (let clients = 0; clients < 5; clients += 1) again();
`;

describe('requireFreeAddress', () => {
  it.each(['127.0.0.1', '0.0.0.0'])('finds a server that listens where %s would', async (host) => {
    const { port } = await serverAt('127.0.0.1');
    await expect(requireFreeAddress(host, port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it.each([
    ['an address that is not of this machine', '192.0.2.77', { code: 'EADDRNOTAVAIL' }],
    ['a name that is of no host', 'no-such-host.invalid', { syscall: 'getaddrinfo' }],
  ])('refuses %s', async (_, host, error) => {
    await expect(requireFreeAddress(host, 0)).rejects.toMatchObject(error);
  });

  it('leaves a free address to a server that listens next', async () => {
    const port = await freePort();
    await requireFreeAddress('127.0.0.1', port);
    expect(await serverAt('127.0.0.1', port)).toMatchObject({ port });
  });

  it('accepts no connection of a client that waits for the server', async () => {
    const port = await freePort();
    const client = new Worker(WAITING_CLIENT, { eval: true, workerData: port });
    await once(client, 'online');
    for (let start = 0; start < 2_000; start += 1) await requireFreeAddress('127.0.0.1', port);
    client.postMessage('stop');
    expect(await once(client, 'message')).toEqual([0]);
    await client.terminate();
  });
});
