import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { GatewaySettings } from '../../src/gateway/settings-table.js';
import { complementOf, exchange, tcpServer } from '../support/echo-target.js';
import { edgeTo } from '../support/edges.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { stopAtEnd } from '../support/leftovers.js';
import { OwnGateway } from '../support/own-gateway.js';
import { addAccount } from '../support/principals.js';
import { GATEWAY, type Service, startService } from '../support/service.js';
import { type KeyPair, logIn, newKeyPair, runSsh } from '../support/ssh-client.js';
import { TunnelClient } from '../support/tunnel-client.js';

const HOST = '127.0.0.1';
const HELLO = Buffer.from('hello');

let service: Service;
beforeAll(async () => {
  service = await startService(GATEWAY);
});

let running: OwnGateway | undefined;
async function gatewayWith(settings: Partial<GatewaySettings>): Promise<OwnGateway> {
  running = await OwnGateway.startFor(service, service.app.url, settings);
  return running;
}
// The service limits the streams of those who follow it.
afterEach(() => running?.gateway.stop());

const enter = ({ port, target }: OwnGateway, { file }: KeyPair) => TunnelClient.logIn(port, file, target.port);
/** The port, or undefined if the bind is refused. */
const bind = (client: TunnelClient | undefined, address = HOST): Promise<number | undefined> =>
  client?.bind(address, 0).catch(() => undefined) ?? Promise.resolve(undefined);

async function visit(port: number, localAddress?: string): Promise<Socket> {
  const at = { port, host: HOST, allowHalfOpen: true, ...(localAddress !== undefined && { localAddress }) };
  const socket = connect(at).on('error', () => undefined);
  stopAtEnd(async () => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** A visitor whose connection is carried. */
async function stay(port: number, localAddress?: string): Promise<Socket> {
  const socket = await visit(port, localAddress);
  socket.write(HELLO);
  expect((await once(socket, 'data'))[0]).toEqual(complementOf(HELLO));
  return socket;
}

async function allOf(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (data) => {
    text += data;
  });
  await gone(socket);
  return text;
}

const gone = (socket: Socket): Promise<void> =>
  new Promise((resolve) => void socket.once('end', resolve).once('close', () => resolve()));

/** An OpenSSH client whose one tunnel leads to this port. */
async function tunnelTo(gateway: OwnGateway, target: number) {
  const port = await freePort(HOST);
  const login = await logIn(gateway.port, await gateway.newCredential(), '-R', `${HOST}:${port}:${HOST}:${target}`);
  expect(login.isOpen ? 'open' : login.output()).toBe('open');
  return { ...login, port };
}

describe('one credential has a maximum of', () => {
  it('connections; a further one is told so, binds nothing and is closed', async () => {
    const gateway = await gatewayWith({ maxConnections: 2 });
    const [key, other] = [await gateway.newCredential(), await gateway.newCredential()];
    const first = await enter(gateway, key);
    const second = await enter(gateway, key);
    const third = await enter(gateway, key);
    third.openTerminal();
    expect(await bind(third)).toBeUndefined();
    await third.shows('refused: the credential has 2 connections, which is the maximum');
    await third.closed;
    const { stderr } = await runSsh(gateway.port, key, []);
    expect(stderr).toContain('the credential has 2 connections, which is the maximum');
    expect(await bind(await enter(gateway, other))).toBeGreaterThan(0);
    expect(await bind(second)).toBeGreaterThan(0);
    first.end();
    await first.closed;
    await eventually(async () => expect(await bind(await enter(gateway, key))).toBeGreaterThan(0));
  });

  it('binds, of all its connections', async () => {
    const gateway = await gatewayWith({ maxBinds: 3 });
    const key = await gateway.newCredential();
    const [first, second] = [await enter(gateway, key), await enter(gateway, key)];
    const port = (await bind(first)) ?? 0;
    expect([await bind(first, 'team=blue'), await bind(second)]).not.toContain(undefined);
    second.openTerminal();
    expect(await bind(second)).toBeUndefined();
    await second.shows('refused 127.0.0.1:0: the credential has 3 binds, which is the maximum');
    expect(await gateway.metrics()).toMatch(/refused_binds_total\{reason="too_many"\} 1/);
    await first.cancel(HOST, port);
    expect(await bind(second)).toBeGreaterThan(0);
    expect(await bind(second)).toBeUndefined();
  });

  it('connections through its tunnels', async () => {
    const gateway = await gatewayWith({ maxChannels: 3 });
    const client = await enter(gateway, await gateway.newCredential());
    const port = (await bind(client)) ?? 0;
    client.openTerminal();
    const [visitor] = await Promise.all([stay(port), stay(port), stay(port)]);
    expect(await exchange(HOST, port, HELLO)).toHaveLength(0);
    await client.shows(
      'refused a connection: the credential has 3 connections through its tunnels, which is the maximum',
    );
    visitor.destroy();
    await eventually(async () => expect(await exchange(HOST, port, HELLO)).toEqual(complementOf(HELLO)));
  });

  it('connections through its tunnels, of which each source of visitors gets as many as the one that had all', async () => {
    const gateway = await gatewayWith({ maxChannels: 6 });
    const client = await enter(gateway, await gateway.newCredential());
    const port = (await bind(client)) ?? 0;
    const flood = await Promise.all(Array.from({ length: 6 }, () => stay(port)));
    const left = () => flood.filter(({ destroyed }) => !destroyed).length;
    for (let n = 0; n < 3; n += 1) await stay(port, '127.0.0.9');
    await eventually(() => expect(left()).toBe(3));
    expect(await visit(port, '127.0.0.9').then(allOf, () => '')).toBe('');
    expect(left()).toBe(3);
  });

  it('bytes a second, both directions of all connections together', async () => {
    const [rate, size] = [200_000, 150_000];
    const gateway = await gatewayWith({ maxBytesPerSecond: rate });
    const client = await enter(gateway, await gateway.newCredential());
    const port = (await bind(client)) ?? 0;
    const started = performance.now();
    const answers = await Promise.all([1, 2].map(() => exchange(HOST, port, Buffer.alloc(size))));
    expect(answers.map(({ length }) => length)).toEqual([size, size]);
    // Those under way are counted before they wait: up to 64 KiB in each direction of each connection.
    const counted = 4 * size - 4 * 65_536;
    expect(performance.now() - started).toBeGreaterThan((counted / rate) * 1000 - 100);
  });
});

describe('an account has a maximum of', () => {
  it('connections, binds and connections through tunnels, with all its credentials', async () => {
    const gateway = await gatewayWith({ maxAccountConnections: 3, maxAccountBinds: 2, maxAccountChannels: 2 });
    const clients = [];
    for (let n = 0; n < 3; n += 1) clients.push(await enter(gateway, await gateway.newCredential()));
    const [first, second, third] = clients;
    const port = (await bind(first)) ?? 0;
    expect(await bind(second)).toBeGreaterThan(0);
    third?.openTerminal();
    expect(await bind(third)).toBeUndefined();
    await third?.shows('the account has 2 binds, which is the maximum');
    const fourth = await enter(gateway, await gateway.newCredential());
    fourth.openTerminal();
    await fourth.shows('refused: the account has 3 connections, which is the maximum');
    await fourth.closed;
    await Promise.all([stay(port), stay(port)]);
    expect(await exchange(HOST, port, HELLO)).toHaveLength(0);
    const other = await addAccount(service);
    const key = await newKeyPair();
    expect((await other.client.post('/ssh_credentials', { public_key: key.publicKey })).status).toBe(201);
    expect(await bind(await enter(gateway, key))).toBeGreaterThan(0);
  });
});

it('the requests of a credential have a rate: beyond it the client is read more slowly, and gets every answer', async () => {
  const gateway = await gatewayWith({ maxRequestsPerSecond: 50, maxBinds: 0 });
  const [key, other] = [await gateway.newCredential(), await gateway.newCredential()];
  const client = await enter(gateway, key);
  const started = performance.now();
  // About 100 may come at once.
  const ports = await Promise.all(Array.from({ length: 300 }, () => bind(client, 'team=blue')));
  expect(ports).not.toContain(undefined);
  expect(performance.now() - started).toBeGreaterThan(1_500);
  const begun = performance.now();
  expect(await bind(await enter(gateway, other))).toBeGreaterThan(0);
  expect(performance.now() - begun).toBeLessThan(1_000);
});

it('an answer that ends while the bytes of its request wait for their rate is no cut: the visitor gets it and a clean end', async () => {
  const gateway = await gatewayWith({ maxBytesPerSecond: 100_000 });
  const target = await tcpServer((socket) => {
    let size = 0;
    socket.on('data', (data) => {
      size += data.length;
      if (size === 50_000) socket.end('all there').destroySoon();
    });
  });
  const tunnel = await tunnelTo(gateway, target);
  for (let n = 0; n < 3; n += 1) {
    const visitor = await visit(tunnel.port);
    let error: Error | undefined;
    visitor.on('error', (found) => {
      error = found;
    });
    visitor.write(Buffer.alloc(50_000));
    expect([await allOf(visitor), error]).toEqual(['all there', undefined]);
    visitor.destroy();
  }
  await tunnel.close();
});

it('a pause that the byte rate demands is no silence: a visitor that has ended its side gets the whole answer', async () => {
  const gateway = await gatewayWith({ maxBytesPerSecond: 40_000, halfClosedMs: 300 });
  // It does not end its own side: once both have ended, another time counts.
  const target = await tcpServer((socket) =>
    socket.resume().once('end', () => socket.write(Buffer.alloc(150_000, 'x'))),
  );
  const tunnel = await tunnelTo(gateway, target);
  const visitor = await visit(tunnel.port);
  expect((await allOf(visitor.end())).length).toBe(150_000);
  await tunnel.close();
});

it('what is idle is closed: a connection without a byte, and a client without a bind', async () => {
  const gateway = await gatewayWith({ idleMs: 1_500 });
  const key = await gateway.newCredential();
  const [bound, unbound] = [await enter(gateway, key), await enter(gateway, key)];
  const port = (await bind(bound)) ?? 0;
  const cancelled = (await bind(unbound)) ?? 0;
  unbound.openTerminal();
  await unbound.shows('bound 127.0.0.1:');
  await unbound.cancel(HOST, cancelled);
  await unbound.shows('closed: the client has no bind');
  const [silent, busy] = [await stay(port), await stay(port)];
  const beat = setInterval(() => busy.write('x'), 50);
  busy.resume();
  await Promise.all([gone(silent.resume()), unbound.closed]);
  await sleep(1_500);
  expect(busy.readableEnded).toBe(false);
  clearInterval(beat);
  expect(await exchange(HOST, port, HELLO)).toEqual(complementOf(HELLO));
});

describe.each([['a bind'], ['an edge']])('a visitor of %s that has ended its side', (of) => {
  /** A program that greets, and answers what a visitor asked for once that has ended: nothing, or a part now and then. */
  async function served(settings: Partial<GatewaySettings>) {
    const gateway = await gatewayWith(settings);
    const asked: Socket[] = [];
    const target = await tcpServer(async (socket) => {
      socket.write('>');
      const text = await allOf(socket);
      if (text === '') return void socket.destroy();
      asked.push(socket);
      if (text === 'nothing') return;
      for (let n = 0; n < 6; n += 1) {
        await sleep(300);
        socket.write('.');
      }
      socket.end('all');
    });
    if (of === 'a bind') return { ...(await tunnelTo(gateway, target)), asked };
    const label = String(Math.random());
    const { port } = await edgeTo(service.admin, { of: label });
    const route = `of=${label}:0:${HOST}:${target}`;
    const login = await logIn(gateway.port, await gateway.newCredential(), '-R', route);
    expect(login.isOpen ? 'open' : login.output()).toBe('open');
    await eventually(async () => (await visit(port)).destroy());
    return { ...login, port, asked };
  }

  const endOf = (socket: Socket): Promise<string> =>
    new Promise((resolve) => {
      socket.once('error', ({ message }) => resolve(message)).once('end', () => resolve('a clean end'));
      socket.resume();
    });

  it('is cut after GATEWAY_HALF_CLOSED_MS without a byte; others stay', async () => {
    const { port, close } = await served({ halfClosedMs: 1_000 });
    const began = performance.now();
    const [silent, slow, open] = [await visit(port), await visit(port), await visit(port)];
    open.write('nothing');
    const answer = allOf(slow.end('parts'));
    expect(await endOf(silent.end('nothing'))).toContain('ECONNRESET');
    expect(performance.now() - began).toBeGreaterThan(900);
    expect(await answer).toBe('>......all');
    expect(performance.now() - began).toBeGreaterThan(1_700);
    expect([open.destroyed, open.readableEnded]).toEqual([false, false]);
    await close();
  });

  it('gives way when all places are taken, oldest end first, and the others get their answers', async () => {
    const { port, close, asked } = await served(of === 'a bind' ? { maxChannels: 3 } : { maxEdgeConnections: 3 });
    const waiting: Socket[] = [];
    for (let n = 1; n <= 3; n += 1) {
      waiting.push((await visit(port)).end('nothing'));
      await eventually(() => expect(asked).toHaveLength(n));
    }
    const [first, second, third] = waiting.map(endOf);
    for (const displaced of [first, second]) {
      const newcomer = await visit(port);
      expect(String((await once(newcomer, 'data'))[0])).toBe('>');
      expect(await displaced).toContain('ECONNRESET');
    }
    asked[2]?.end('late');
    expect(await third).toBe('a clean end');
    await close();
  });
});
