import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttp } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import ssh2, { type Algorithms, type Client } from 'ssh2';
import { complementOf, exchange } from '../support/echo-target.js';
import { eventually } from '../support/eventually.js';
import { stopAtEnd } from '../support/leftovers.js';
import { OwnGateway } from '../support/own-gateway.js';
import { PickyProxy } from '../support/picky-proxy.js';
import { type KeyPair } from '../support/ssh-client.js';
import { TunnelClient } from '../support/tunnel-client.js';

let trial: OwnGateway;
let key: KeyPair;
beforeAll(async () => {
  trial = await OwnGateway.start({ maxConnections: 2 });
  key = await trial.newCredential('bind:*=*', 'bind:127.0.0.1:*', 'bind:127.0.0.1');
});

interface Hostile {
  readonly client: Client;
  readonly socket: Socket;
}

/** A client that the test can make misbehave, since it is of the library. It leaves its side of the connection open. */
async function enter(
  own: KeyPair,
  port = trial.port,
  algorithms: Partial<Algorithms> = {},
  localAddress = '127.0.0.1',
): Promise<Hostile> {
  const socket = connect({ host: '127.0.0.1', port, localAddress, allowHalfOpen: true });
  socket.end = () => socket;
  const client = new ssh2.Client();
  stopAtEnd(async () => void socket.destroy());
  const ready = new Promise<void>((resolve, reject) => {
    client.once('ready', resolve).on('error', reject);
    socket.once('close', () => reject(new Error('closed')));
  });
  client.connect({ sock: socket, username: 'any', privateKey: readFileSync(own.file), algorithms });
  await ready;
  return { client, socket };
}

/** Those of the gateway. */
const openSockets = ({ gateway } = trial): ReadonlySet<Socket> =>
  (gateway as unknown as { readonly ssh: { readonly sockets: ReadonlySet<Socket> } }).ssh.sockets;

const bind = ({ client }: Hostile, address: string, port: number): Promise<number | undefined> =>
  new Promise((resolve) => client.forwardIn(address, port, (error, bound) => resolve(error ? undefined : bound)));

describe('a client that has logged in', () => {
  it('cannot make the gateway send in packets without room: a size of 0 would never end', async () => {
    const hostile = await enter(key);
    type Confirm = (remote: number, local: number, window: number, packetSize: number) => void;
    const { _protocol: protocol } = hostile.client as unknown as {
      readonly _protocol: { channelOpenConfirm: Confirm };
    };
    const confirm = protocol.channelOpenConfirm.bind(protocol);
    // Of size 1, since with 0 this test would not fail but hang.
    protocol.channelOpenConfirm = (remote, local, window) => confirm(remote, local, window, 1);
    let received = 0;
    hostile.client.on('tcp connection', (_, accept) => void accept().on('data', () => (received += 1)));
    const port = (await bind(hostile, '127.0.0.1', 0)) ?? 0;
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.write('hello');
    await new Promise((resolve) => socket.once('close', resolve));
    expect(received).toBe(0);
    hostile.socket.destroy();
  });

  it('is cut off above the maximum of connections, though it never closes its side', async () => {
    const own = await trial.newCredential('bind:*=*');
    await Promise.all([enter(own), enter(own)]);
    const before = openSockets().size;
    const third = await enter(own);
    third.client.on('error', () => undefined);
    expect(openSockets().size).toBe(before + 1);
    await eventually(() => expect(openSockets().size).toBe(before), 6_000);
  });
});

describe('a client that does not read', () => {
  it('holds about 1 MiB with all its tunnels, whose senders wait, and gets everything once it reads', async () => {
    const hostile = await enter(key);
    const own = [...openSockets()].find(({ remotePort }) => remotePort === hostile.socket.localPort);
    let [channels, received] = [0, 0];
    hostile.client.on('tcp connection', (_, accept) => {
      accept().on('data', (data: Buffer) => (received += data.length));
      channels += 1;
    });
    const port = (await bind(hostile, '127.0.0.1', 0)) ?? 0;
    const sockets = Array.from({ length: 200 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
    await eventually(() => expect(channels).toBe(sockets.length), 10_000);
    hostile.socket.pause();
    for (const socket of sockets) socket.write(Buffer.alloc(64 * 1024));
    await eventually(() => expect(own?.writableLength).toBeGreaterThan(500_000), 10_000);
    await sleep(500);
    expect(own?.writableLength).toBeLessThan(2_000_000);
    expect(await trial.metrics()).toMatch(/buffered_bytes [1-9]\d{6,7}\n/);
    hostile.socket.resume();
    await eventually(() => expect(received).toBe(200 * 64 * 1024), 10_000);
    for (const socket of [...sockets, hostile.socket]) socket.destroy();
  });
});

describe('a client that asks without end', () => {
  it('is cut off above 1,000 requests without an answer, and told so', async () => {
    const proxy = await PickyProxy.to(trial.service.app.url);
    const slow = await OwnGateway.startFor(trial.service, proxy.url, { maxRequestsPerSecond: 0 });
    const own = await trial.newCredential('bind:*=*');
    const hostile = await TunnelClient.logIn(slow.port, own.file, slow.target.port);
    // A session without a bind would be over at once.
    await hostile.bind('team=blue', 0);
    hostile.openTerminal();
    await hostile.shows('bound team=blue');
    proxy.delay('/authorize', 4_000);
    for (let n = 0; n < 5_000; n += 1) hostile.bind('team=blue', 0).catch(() => undefined);
    await hostile.shows('1000 requests without an answer', 10_000);
    await eventually(() => expect(openSockets(slow).size).toBe(0), 5_000);
    const lines = slow.log.filter((line) => 'credential' in line && line.credential === own.id);
    expect(lines.filter(({ message }) => message.startsWith('ended a connection'))).toHaveLength(1);
    expect(lines.length).toBeLessThan(100);
    await slow.gateway.stop();
  });
});

it('a long bind address makes no long line on the terminal', async () => {
  const { file } = await trial.newCredential('bind:*=*');
  const client = await TunnelClient.logIn(trial.port, file, trial.target.port);
  await client.bind('team=blue', 0);
  client.openTerminal();
  await client.bind('x'.repeat(20_000), 80).catch(() => undefined);
  await client.shows('refused xxx');
  expect(client.shown.length).toBeLessThan(2_000);
  client.end();
});

describe('a stranger', () => {
  it('is offered no group whose arithmetic stops the gateway', async () => {
    const algorithms = { kex: ['diffie-hellman-group18-sha512', 'diffie-hellman-group16-sha512'] };
    await expect(enter(key, trial.port, algorithms as Partial<Algorithms>)).rejects.toThrow(/key exchange|closed/);
  });
});

describe('new connections', () => {
  it('of one source have a rate; further ones are closed, and those of other sources are not', async () => {
    const limited = await OwnGateway.startFor(trial.service, trial.service.app.url, { maxConnectionsPerSecond: 5 });
    const dial = (localAddress: string): Socket =>
      connect({ host: '127.0.0.1', port: limited.port, localAddress })
        .on('error', () => undefined)
        .resume();
    const flood = Array.from({ length: 60 }, () => dial('127.0.0.1'));
    await eventually(() => expect(flood.filter(({ destroyed }) => destroyed).length).toBeGreaterThan(15));
    expect(flood.filter(({ destroyed }) => !destroyed).length).toBeGreaterThanOrEqual(10);
    expect(await limited.metrics()).toMatch(/refused_connections_total\{reason="rate"\} [1-9]/);
    const said = limited.log.find((line) => 'reason' in line && line.reason === 'rate');
    expect(said).toMatchObject({ event: 'login_refused', source: '127.0.0.1', source_port: expect.any(Number) });
    expect((await enter(key, limited.port, {}, '127.0.0.2')).socket.destroyed).toBe(false);
    await sleep(1_000);
    expect((await enter(key, limited.port)).socket.destroyed).toBe(false);
    for (const one of flood) one.destroy();
    await limited.gateway.stop();
  });
});

describe('what is no service at SERVICE_URL', () => {
  it.each([['{}'], ['null'], ['[]']])('lets no key in by the answer %s, and ends no gateway', async (body) => {
    const other = createHttp((request, response) => {
      request.resume();
      response.setHeader('content-type', 'application/json');
      if (request.url?.endsWith('/recheck')) response.end('{"changed": []}');
      else if (request.url?.endsWith('changes')) response.write('event: ready\ndata: {}\n\n');
      else response.end(body);
    }).listen(0, '127.0.0.1');
    await once(other, 'listening');
    stopAtEnd(async () => {
      other.close();
      other.closeAllConnections();
    });
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const lost = await OwnGateway.startFor(trial.service, url, {});
    await expect(enter(key, lost.port)).rejects.toThrow();
    await eventually(() => expect(JSON.stringify(lost.log)).toContain('is not from the service'));
    await lost.gateway.stop();
  });
});

it('still carries bytes after all of this', async () => {
  const own = await trial.newCredential('bind:127.0.0.1');
  const login = await trial.bind(own, '127.0.0.1:0');
  const port = Number(/Allocated port (\d+)/.exec(login.output())?.[1]);
  expect(await exchange('127.0.0.1', port, Buffer.from('hello'))).toEqual(complementOf(Buffer.from('hello')));
  await login.close();
});
