import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { GatewayProcess } from '../support/gateway-process.js';
import { stopAtEnd } from '../support/leftovers.js';
import { RawSshClient } from '../support/raw-ssh-client.js';
import type { KeyPair } from '../support/ssh-client.js';
import * as messages from '../support/ssh-messages.js';
import { TunnelClient } from '../support/tunnel-client.js';

jest.setTimeout(120_000);
const { AUTHENTICATION, TRANSPORT, CONNECTION } = messages;
const HOST = '127.0.0.1';

let gateway: GatewayProcess;
let key: KeyPair;
let neighbour: KeyPair;
beforeAll(async () => {
  gateway = await GatewayProcess.start();
  key = await gateway.newCredential('bind:*=*', 'bind:127.0.0.1');
  neighbour = await gateway.newCredential('bind:127.0.0.1');
});

/** A connection that speaks no SSH yet. */
function dial(localAddress = HOST): Socket {
  const socket = connect({ host: HOST, port: gateway.port, localAddress }).on('error', () => undefined);
  stopAtEnd(async () => void socket.destroy());
  return socket.resume();
}

const isClosedWithin = (socket: Socket, ms: number): Promise<boolean> =>
  Promise.race([
    new Promise<boolean>((resolve) => void socket.once('close', () => resolve(true))),
    sleep(ms, false, { ref: false }),
  ]);

const endedBy = (reason: string): Promise<number> => gateway.metric(`ended_connections_total{reason="${reason}"}`);

describe('a stranger who sends', () => {
  it('a bad signature, then two more requests to log in at once, ends its own connection only', async () => {
    const stranger = await RawSshClient.connect(gateway.port);
    stranger.send(TRANSPORT.serviceRequest());
    await stranger.next('SERVICE_ACCEPT');
    stranger.send(AUTHENTICATION.badSignature(), AUTHENTICATION.none(), AUTHENTICATION.keyQuery());
    expect(await stranger.isEndedWithin(2_000)).toBe(true);
    await gateway.expectNeighbourServed(neighbour);
    expect(await endedBy('login_limit')).toBeGreaterThan(0);
  });

  it('no newline is closed after 255 bytes, and one that sends nothing after 5 s', async () => {
    const silent = dial();
    const began = performance.now();
    const long = dial();
    long.write(Buffer.alloc(255, 'x'));
    expect(await isClosedWithin(long, 1_000)).toBe(true);
    expect(await isClosedWithin(silent, 7_000)).toBe(true);
    expect(performance.now() - began).toBeGreaterThan(4_500);
    expect(await endedBy('identification')).toBeGreaterThanOrEqual(2);
  });

  it('its identification line byte by byte is served', async () => {
    const slow = dial();
    let received = Buffer.alloc(0);
    slow.on('data', (data) => {
      received = Buffer.concat([received, data]);
    });
    for (const character of 'SSH-2.0-slow\r\n') {
      slow.write(character);
      await sleep(5);
    }
    await eventually(() => expect(received.includes('curve25519-sha256')).toBe(true));
    slow.destroy();
  });

  it.each([
    ['101 packets', () => Array.from({ length: 101 }, () => TRANSPORT.ignore())],
    ['64 KiB', () => [TRANSPORT.ignore, TRANSPORT.ignore, TRANSPORT.ignore].map(() => ignoreOf(30_000))],
  ])('%s and does not log in is ended', async (_, payloads) => {
    const stranger = await RawSshClient.connect(gateway.port);
    stranger.send(...payloads());
    expect(await stranger.isEndedWithin(2_000)).toBe(true);
  });

  it('a key that takes the library long to read is ended before it is read, and no neighbour waits', async () => {
    const slow = messages.hostKeys(`-----BEGIN RSA PRIVATE KEY-----\n${'a:b\n'.repeat(8_000)}`);
    const began = performance.now();
    for (let n = 0; n < 10; n += 1) {
      const stranger = await RawSshClient.connect(gateway.port);
      stranger.send(slow);
      expect(await stranger.isEndedWithin(2_000)).toBe(true);
      const client = await RawSshClient.logIn(gateway.port, key.file);
      client.send(slow);
      expect(await client.isEndedWithin(2_000)).toBe(true);
    }
    // Each took a quarter of a second.
    expect(performance.now() - began).toBeLessThan(3_000);
  });

  it('a second key exchange is ended', async () => {
    const stranger = await RawSshClient.connect(gateway.port);
    stranger.rekey();
    expect(await stranger.isEndedWithin(2_000)).toBe(true);
    expect(await endedBy('key_exchange')).toBeGreaterThan(0);
  });

  it.each(Object.entries(CONNECTION))('a message for tunnels (%s) is ended, whatever it is', async (_, payload) => {
    const stranger = await RawSshClient.connect(gateway.port);
    stranger.send(TRANSPORT.serviceRequest());
    await stranger.next('SERVICE_ACCEPT');
    stranger.send(payload());
    expect(await stranger.isEndedWithin(2_000)).toBe(true);
  });

  const ignoreOf = (size: number): Buffer => Buffer.concat([messages.byte(2), messages.text(Buffer.alloc(size))]);
});

describe('a full house of strangers', () => {
  it('lets a client in: 500 idle ones of 10 addresses shut nobody out', async () => {
    const strangers = Array.from({ length: 500 }, (_, n) => dial(`127.0.2.${1 + (n % 10)}`));
    // Each says who it is, so that it may stay for the whole time to log in.
    for (const stranger of strangers) stranger.write('SSH-2.0-idle\r\n');
    await sleep(1_000);
    for (let n = 0; n < 20; n += 1) await gateway.expectNeighbourServed(neighbour);
    for (const stranger of strangers) stranger.destroy();
  });
});

describe('a client that has logged in and', () => {
  it('asks for 1,000 binds, closes its session and asks once more in one piece harms no other client', async () => {
    const client = await RawSshClient.logIn(gateway.port, key.file);
    client.send(messages.openSession());
    const { fields } = await client.next('CHANNEL_OPEN_CONFIRMATION');
    client.send(messages.shell(fields[0].sender));
    await client.next('CHANNEL_SUCCESS');
    const binds = Array.from({ length: 1_000 }, () => messages.bind('other.example.test', 80));
    client.send(...binds, messages.close(fields[0].sender), messages.bind('other.example.test', 80));
    await client.isEndedWithin(1_500);
    await gateway.expectNeighbourServed(neighbour);
    client.destroy();
  });

  /** A client with one connection through its tunnel. */
  async function withConnection(): Promise<{ client: RawSshClient; visitor: Socket; channel: number }> {
    const client = await RawSshClient.logIn(gateway.port, key.file);
    client.send(messages.bind(HOST, 0));
    const bound = await client.next('REQUEST_SUCCESS');
    const visitor = connect(bound.fields[0].readUInt32BE(0), HOST).on('error', () => undefined);
    stopAtEnd(async () => void visitor.destroy());
    const opened = await client.next('CHANNEL_OPEN');
    client.send(messages.confirmOpen(opened.fields[0].sender, 0));
    return { client, visitor, channel: opened.fields[0].sender };
  }

  it('sends beyond its window is ended, and the memory is not taken', async () => {
    const { client, visitor, channel } = await withConnection();
    visitor.pause();
    const before = gateway.residentMb;
    const part = messages.data(channel, Buffer.alloc(32_000));
    for (let n = 0; n < 3_000 && !client.socket.destroyed; n += 1) {
      client.send(part);
      if (client.socket.writableNeedDrain)
        await Promise.race([new Promise((r) => client.socket.once('drain', r)), client.closed]);
    }
    expect(await client.isEndedWithin(5_000)).toBe(true);
    expect(gateway.residentMb - before).toBeLessThan(40);
    expect(await endedBy('window')).toBeGreaterThan(0);
    await gateway.expectNeighbourServed(neighbour);
  });

  it('sends more behind the data of a packet is ended: it would stay in memory with it', async () => {
    const { client, channel } = await withConnection();
    client.send(messages.dataAndMore(channel, Buffer.from('x'), Buffer.alloc(30_000)));
    expect(await client.isEndedWithin(2_000)).toBe(true);
  });

  it('asks to log in again is ended', async () => {
    const client = await RawSshClient.logIn(gateway.port, key.file);
    client.send(AUTHENTICATION.unknownMethod());
    expect(await client.isEndedWithin(2_000)).toBe(true);
  });

  it('closes its session while lines wait for it ends nothing', async () => {
    const { client, visitor } = await withConnection();
    client.send(messages.openSession(5));
    const session = (await client.next('CHANNEL_OPEN_CONFIRMATION')).fields[0].sender;
    client.send(messages.shell(session));
    await client.next('CHANNEL_SUCCESS');
    client.send(messages.windowAdjust(0, 2 ** 30));
    client.socket.pause();
    visitor.write(Buffer.alloc(20_000_000));
    for (let n = 0; n < 50; n += 1) client.send(messages.bind('other.example.test', 80));
    await sleep(500);
    client.send(messages.close(session));
    client.socket.resume();
    await client.next('CHANNEL_CLOSE');
    await gateway.expectNeighbourServed(neighbour);
    client.destroy();
  });

  it('begins a key exchange and never ends it makes the gateway hold nothing for it', async () => {
    const { client, visitor } = await withConnection();
    const before = gateway.residentMb;
    client.send(messages.windowAdjust(0, 2 ** 30));
    client.send(TRANSPORT.kexInit());
    const block = Buffer.alloc(1024 * 1024);
    let sent = 0;
    const fill = (): void => {
      while (sent < 100 * block.length && visitor.write(block)) sent += block.length;
    };
    visitor.on('drain', fill);
    fill();
    await sleep(3_000);
    expect(gateway.residentMb - before).toBeLessThan(40);
    await gateway.expectNeighbourServed(neighbour);
    client.destroy();
  });

  it('opens and closes sessions without end holds no memory', async () => {
    const client = await RawSshClient.logIn(gateway.port, key.file);
    for (let n = 0; n < 200; n += 1) {
      client.send(messages.openSession(n));
      const { fields } = await client.next('CHANNEL_OPEN_CONFIRMATION');
      client.send(messages.close(fields[0].sender));
      await client.next('CHANNEL_CLOSE');
    }
    client.destroy();
  });

  it('asks without wanting a reply gets its bind', async () => {
    const client = await RawSshClient.logIn(gateway.port, key.file);
    const before = await gateway.metric('tunnels');
    client.send(messages.bind('team=blue', 0, false));
    await eventually(async () => expect(await gateway.metric('tunnels')).toBe(before + 1));
    client.destroy();
    await eventually(async () => expect(await gateway.metric('tunnels')).toBe(before));
  });
});

describe('without a free file descriptor', () => {
  it('the gateway refuses what comes, and serves again when it has some', async () => {
    const small = await GatewayProcess.beside(gateway.service, gateway.service.app.url, {}, 200);
    const own = await small.newCredential('bind:127.0.0.1');
    const login = await TunnelClient.logIn(small.port, own.file, small.target.port);
    const port = await login.bind(HOST, 0);
    const ports = [Number(new URL(small.metricsUrl).port), small.port, port];
    const flood = ports.flatMap((to) =>
      Array.from({ length: 60 }, () =>
        connect(to, HOST)
          .on('error', () => undefined)
          .resume(),
      ),
    );
    await sleep(1_500);
    expect(small.isAlive).toBe(true);
    for (const socket of flood) socket.destroy();
    await eventually(() => small.expectServed(own), 10_000);
  });
});

describe('the bytes that wait for slow readers', () => {
  it('have a budget: what holds most goes first, and the client stays, since its visitors are at fault', async () => {
    const small = await GatewayProcess.beside(gateway.service, gateway.service.app.url, {
      GATEWAY_MAX_BUFFERED_BYTES: '80000000',
    });
    const own = await small.newCredential('bind:127.0.0.1');
    const client = await RawSshClient.logIn(small.port, own.file);
    const before = await small.memoryInUseMb();
    client.send(messages.bind(HOST, 0));
    const port = (await client.next('REQUEST_SUCCESS')).fields[0].readUInt32BE(0);
    let closed = 0;
    // The kernel takes some megabytes for each visitor.
    client.onMessage = ({ name, fields }) => {
      const isNew = name === 'CHANNEL_OPEN';
      if (name === 'CHANNEL_CLOSE') {
        closed += 1;
        client.send(messages.close(fields[0]));
      }
      if (!isNew && name !== 'CHANNEL_WINDOW_ADJUST') return;
      const channel: number = isNew ? fields[0].sender : fields[0];
      if (isNew) client.send(messages.confirmOpen(channel, channel));
      for (let left = isNew ? 2 ** 21 : fields[1]; left >= 32_000; left -= 32_000) {
        client.send(messages.data(channel, Buffer.alloc(32_000)));
      }
    };
    const visitors = Array.from({ length: 20 }, () =>
      connect(port, HOST)
        .on('error', () => undefined)
        .pause(),
    );
    await eventually(() => expect(closed).toBeGreaterThan(5), 20_000);
    await eventually(async () => expect(await small.metric('buffered_bytes')).toBeLessThan(10_000_000), 20_000);
    expect((await small.memoryInUseMb()) - before).toBeLessThan(40);
    expect(client.socket.destroyed).toBe(false);
    for (const visitor of visitors) visitor.destroy();
    await small.expectNeighbourServed(await small.newCredential('bind:127.0.0.1'));
    client.destroy();
  });
});

it('at the end of all of this the gateway has no fault of its own to tell', async () => {
  expect(gateway.isAlive).toBe(true);
  expect(await endedBy('internal')).toBe(0);
  await gateway.expectNeighbourServed(neighbour);
});
