import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { tcpServer } from '../support/echo-target.js';
import { edgeTo } from '../support/edges.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { GatewayProcess } from '../support/gateway-process.js';
import { stopAtEnd } from '../support/leftovers.js';
import { RawSshClient } from '../support/raw-ssh-client.js';
import { logIn } from '../support/ssh-client.js';
import * as messages from '../support/ssh-messages.js';
import { TunnelClient } from '../support/tunnel-client.js';

/** By hand: GATEWAY_BYTES_MB=10000 npm run test:e2e -- gateway-bytes */
const TOTAL_MB = Number(process.env.GATEWAY_BYTES_MB ?? 100);
const ROUTES = 4;
const AT_ONCE = 8;
const HOST = '127.0.0.1';
jest.setTimeout(60_000 + TOTAL_MB * 500);

/** Every stream of a test is a part of these bytes, begun at a place of its own. */
const BLOCK = randomBytes(1024 * 1024);
const partOf = (at: number, size: number): Buffer => {
  const from = at % BLOCK.length;
  return BLOCK.subarray(from, Math.min(from + size, BLOCK.length));
};

/** How one side of a connection behaves. */
interface Side {
  readonly from: number;
  readonly size: number;
  /** Reads slowly: waits after each part. */
  readonly isSlow: boolean;
  /** Ends its side when it has sent everything, or waits for the end of the other one. */
  readonly endsFirst: boolean;
}

const newSide = (): Side => ({
  from: randomInt(BLOCK.length),
  size: [0, 1, 5_000, 300_000, 2_000_000][randomInt(5)] ?? 0,
  isSlow: randomInt(4) === 0,
  endsFirst: randomInt(2) === 0,
});

interface Outcome {
  readonly received: number;
  readonly isExact: boolean;
  readonly error: string | undefined;
}

/** Plays one side. Resolves when the socket is closed. */
async function play(socket: Socket, own: Side, other: Side): Promise<Outcome> {
  let received = 0;
  let isExact = true;
  let error: string | undefined;
  socket.on('error', ({ message }) => {
    error = message;
  });
  const ended = once(socket, 'end').catch(() => undefined);
  socket.on('data', (data) => {
    for (let at = 0; at < data.length; ) {
      const expected = partOf(other.from + received, data.length - at);
      if (expected.compare(data, at, at + expected.length) !== 0) isExact = false;
      at += expected.length;
      received += expected.length;
    }
    if (!own.isSlow) return;
    socket.pause();
    setTimeout(() => socket.resume(), randomInt(20));
  });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  for (let sent = 0; sent < own.size && !socket.destroyed; ) {
    const part = partOf(own.from + sent, 1 + randomInt(100_000)).subarray(0, own.size - sent);
    sent += part.length;
    if (!socket.write(part)) await Promise.race([once(socket, 'drain').catch(() => undefined), closed]);
  }
  if (!own.endsFirst) await Promise.race([ended, closed]);
  socket.end();
  await closed;
  return { received, isExact: isExact && received === other.size, error };
}

interface Plan {
  readonly atTarget: Side;
  readonly outcome: (outcome: Outcome) => void;
  readonly atVisitor: Side;
}

/** Plans of connections by their first four bytes. */
const plans = new Map<number, Plan>();
let gateway: GatewayProcess;
let target: number;
const routes: { readonly name: string; readonly port: number }[] = [];

beforeAll(async () => {
  gateway = await GatewayProcess.start({ GATEWAY_MAX_CONNECTIONS_PER_SECOND: '0' });
  target = await tcpServer((socket) => {
    socket.once('data', (data) => {
      const plan = plans.get(data.readUInt32BE(0));
      if (plan === undefined) return void socket.destroy();
      if (data.length > 4) socket.unshift(data.subarray(4));
      void play(socket, plan.atTarget, plan.atVisitor).then(plan.outcome);
    });
  });
  await openRoutes();
});

/** Through a tunnel and through an edge, each with OpenSSH and with a client of the library. */
async function openRoutes(): Promise<void> {
  const key = await gateway.newCredential('bind:*=*', 'bind:127.0.0.1:*', 'bind:127.0.0.1');
  const tunnel = await freePort(HOST);
  const ssh = [`${HOST}:${tunnel}:${HOST}:${target}`, `by=openssh:0:${HOST}:${target}`].flatMap((r) => ['-R', r]);
  // Keys are exchanged under way.
  const login = await logIn(gateway.port, key, '-o', 'RekeyLimit=20M', ...ssh);
  expect(login.isOpen ? '' : login.output()).toBe('');
  const client = await TunnelClient.logIn(gateway.port, key.file, target);
  routes.push({ name: 'tunnel of OpenSSH', port: tunnel });
  routes.push({ name: 'tunnel of a library', port: await client.bind(HOST, 0) });
  await client.bind('by=library', 0);
  for (const by of ['openssh', 'library']) {
    const { port } = await edgeTo(gateway.service.admin, { by });
    await eventually(async () => (await dial(port)).destroy());
    routes.push({ name: `edge to ${by}`, port });
  }
}

async function dial(port: number): Promise<Socket> {
  const socket = connect({ port, host: HOST, allowHalfOpen: true });
  stopAtEnd(async () => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

async function connection(id: number, port: number): Promise<{ bytes: number; outcomes: readonly Outcome[] }> {
  const [atVisitor, atTarget] = [newSide(), newSide()];
  // If both wait for the other one, neither ends.
  const visiting = atTarget.endsFirst ? atVisitor : { ...atVisitor, endsFirst: true };
  const there = new Promise<Outcome>((outcome) => plans.set(id, { atTarget, atVisitor: visiting, outcome }));
  const socket = await dial(port);
  socket.write(messages.uint32(id));
  const here = await play(socket, visiting, atTarget);
  return { bytes: atVisitor.size + atTarget.size, outcomes: [here, await there] };
}

it(`${TOTAL_MB} MB in both directions, with half-closes and slow readers, are exact to the byte`, async () => {
  expect(routes).toHaveLength(ROUTES);
  let sent = 0;
  let id = 0;
  const wrong: unknown[] = [];
  const run = async (): Promise<void> => {
    while (sent < TOTAL_MB * 1_000_000 && wrong.length === 0) {
      const { name, port } = routes[id % routes.length] ?? { name: '', port: 0 };
      const { bytes, outcomes } = await connection(id++, port);
      sent += bytes;
      for (const outcome of outcomes) if (!outcome.isExact || outcome.error) wrong.push({ name, outcomes });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
  expect(wrong).toEqual([]);
});

describe('an upload', () => {
  /** A target that ends its side at once, and reads slowly. */
  async function slowTarget(): Promise<{ port: number; received: Promise<number> }> {
    let done: (received: number) => void = () => undefined;
    const received = new Promise<number>((resolve) => {
      done = resolve;
    });
    const port = await tcpServer((socket) => {
      let size = 0;
      socket.end('I am done');
      socket.on('data', (data) => {
        size += data.length;
        socket.pause();
        setTimeout(() => socket.resume(), 5);
      });
      socket.on('end', () => done(size)).on('error', () => done(-1));
    });
    return { port, received };
  }

  it.each([['OpenSSH'], ['a library']])(
    'to a program that ends its side first and reads slowly comes whole (%s)',
    async (by) => {
      const size = 5_000_000;
      const { port: slow, received } = await slowTarget();
      const key = await gateway.newCredential('bind:127.0.0.1:*', 'bind:127.0.0.1');
      let port = await freePort(HOST);
      if (by === 'OpenSSH') await logIn(gateway.port, key, '-R', `${HOST}:${port}:${HOST}:${slow}`);
      else port = await (await TunnelClient.logIn(gateway.port, key.file, slow)).bind(HOST, 0);
      const visitor = await dial(port);
      visitor.resume();
      visitor.end(Buffer.alloc(size, 'x'));
      expect(await received).toBe(size);
    },
  );
});

/** A client of messages with a visitor of its tunnel. */
async function visited(at = gateway) {
  const key = await at.newCredential('bind:127.0.0.1');
  const client = await RawSshClient.logIn(at.port, key.file);
  client.send(messages.bind(HOST, 0));
  const port: number = (await client.next('REQUEST_SUCCESS')).fields[0].readUInt32BE(0);
  const opened = client.next('CHANNEL_OPEN');
  const visitor = (await dial(port)).on('error', () => undefined);
  const channel: number = (await opened).fields[0].sender;
  client.send(messages.confirmOpen(channel, 7));
  return { key, client, port, visitor, channel };
}

describe('a connection that is cut', () => {
  /** It has carried bytes. */
  async function carried(at = gateway) {
    const it = await visited(at);
    const { client, visitor } = it;
    const error = new Promise<string>((resolve) => {
      visitor.once('error', ({ message }) => resolve(message)).once('close', () => resolve('a clean end'));
    });
    visitor.write('hello');
    await client.next('CHANNEL_DATA');
    return { ...it, error };
  }

  it.each([
    ['its client vanishes', ({ client }: Cut) => client.socket.resetAndDestroy()],
    ['its client says goodbye in the middle', ({ client }: Cut) => client.send(messages.TRANSPORT.disconnect())],
    ['its right is gone', ({ key }: Cut) => gateway.service.admin.delete(`/ssh_credentials/${key.id}`)],
  ])('is reset at the visitor, when %s', async (_, cut) => {
    const it = await carried();
    it.visitor.resume();
    await cut(it);
    expect(await it.error).toContain('ECONNRESET');
  });

  it.each([
    ['SIGTERM', 'read ECONNRESET'],
    // The kernel closes the sockets. docs/own-gateway.md says what to do about it.
    ['SIGKILL', 'a plain end'],
  ] as const)('by %s of the gateway in the middle of a download gives the visitor %s', async (signal, expected) => {
    const another = await GatewayProcess.beside(gateway.service, gateway.service.app.url, {});
    const { client, visitor, channel, error } = await carried(another);
    client.send(messages.data(channel, Buffer.from('a part')));
    expect(String((await once(visitor, 'data'))[0])).toBe('a part');
    const end = new Promise((resolve) => visitor.resume().once('end', () => resolve('a plain end')));
    another.child.kill(signal);
    expect(await Promise.race([error, end])).toBe(expected);
  });

  it('by its visitor is closed at the client without an end of the data', async () => {
    const { client, visitor } = await carried();
    visitor.resetAndDestroy();
    await client.next('CHANNEL_CLOSE');
    expect(client.received.map(({ name }) => name)).not.toContain('CHANNEL_EOF');
    client.destroy();
  });

  it('by its client, which left bytes of the visitor untaken, is reset at the visitor', async () => {
    const { client, visitor, channel, error } = await carried();
    visitor.resume();
    visitor.end(Buffer.alloc(4_000_000));
    // The window of the client is full.
    await sleep(300);
    client.send(messages.data(channel, Buffer.from('enough')));
    // Node tells a reset as an end if it comes together with data.
    await once(visitor, 'data');
    client.send(messages.close(channel));
    expect(await error).toContain('ECONNRESET');
    client.destroy();
  });

  it('by its client, which took nothing of an upload that has ended, never looks whole to the visitor', async () => {
    for (let n = 0; n < 30; n += 1) {
      const { client, visitor, channel, error } = await carried();
      visitor.resume();
      visitor.end(Buffer.alloc(6_000_000));
      // At any moment: before, while and after the window is filled.
      await sleep(n);
      client.send(messages.close(channel));
      expect([n, await error]).toEqual([n, expect.stringMatching(/ECONNRESET|EPIPE/)]);
      client.destroy();
    }
  });

  it('by its client after an answer gives the visitor the whole answer and a clean end', async () => {
    const { client, visitor, channel } = await carried();
    let received = 0;
    visitor.on('data', (data) => {
      received += data.length;
    });
    for (let n = 0; n < 10; n += 1) client.send(messages.data(channel, Buffer.alloc(30_000)));
    client.send(messages.close(channel));
    await once(visitor, 'end');
    expect(received).toBe(300_000);
    client.destroy();
  });

  type Cut = Awaited<ReturnType<typeof carried>>;
});

describe('a visitor that does not read', () => {
  it.each([['its client closes the connection'], ['its right is gone']])(
    'keeps no socket longer than 10 s after %s',
    async (what) => {
      const { key, client, port, visitor, channel } = await visited();
      visitor.pause();
      await fill(client, channel);
      const open = async (): Promise<number> => (await heldSockets(port)).length;
      expect(await open()).toBe(2);
      if (what.includes('closes')) client.send(messages.eof(channel), messages.close(channel));
      else await gateway.service.admin.delete(`/ssh_credentials/${key.id}`);
      await eventually(async () => expect(await open()).toBeLessThan(2), 16_000);
      client.destroy();
    },
  );

  /** Sends as much as the gateway takes: the buffers of the kernel are full then, and so is the window. */
  async function fill(client: RawSshClient, channel: number): Promise<void> {
    let window = 2 ** 21;
    client.onMessage = ({ name, fields }) => {
      if (name === 'CHANNEL_WINDOW_ADJUST') window += fields[1];
    };
    for (let quiet = 0; quiet < 2; quiet += 1) {
      for (; window > 30_000; window -= 30_000, quiet = 0) client.send(messages.data(channel, Buffer.alloc(30_000)));
      await sleep(300);
    }
  }

  /** Sockets of this machine at the local port that a process holds, the listener among them. */
  async function heldSockets(port: number): Promise<readonly string[]> {
    const table = await readFile('/proc/net/tcp', 'utf8');
    const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
    return table.split('\n').filter((line) => {
      const fields = line.trim().split(/\s+/);
      return fields[1] === local && fields[9] !== '0';
    });
  }
});
