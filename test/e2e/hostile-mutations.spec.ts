import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it, jest } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { GatewayProcess } from '../support/gateway-process.js';
import { RawSshClient } from '../support/raw-ssh-client.js';
import type { KeyPair } from '../support/ssh-client.js';
import * as messages from '../support/ssh-messages.js';

/** By hand: HOSTILE_SESSIONS=100000 npm run test:e2e -- hostile-mutations */
const SESSIONS = Number(process.env.HOSTILE_SESSIONS ?? 1_000);
const SEED = Number(process.env.HOSTILE_SEED ?? Date.now() % 1_000_000);
const AT_ONCE = 16;
/** How often another client logs in meanwhile. */
const NEIGHBOUR_EVERY = 100;
const MAX_GROWTH_MB = 15;
const MAX_RESIDENT_MB = 512;
jest.setTimeout(60_000 + SESSIONS * 50);

let gateway: GatewayProcess;
let key: KeyPair;
let neighbour: KeyPair;
beforeAll(async () => {
  gateway = await GatewayProcess.start({
    GATEWAY_MAX_CONNECTIONS: '0',
    GATEWAY_MAX_CONNECTIONS_PER_SECOND: '0',
    LOG_LEVEL: 'error',
  });
  key = await gateway.newCredential('bind:*=*', 'bind:127.0.0.1');
  neighbour = await gateway.newCredential('bind:127.0.0.1');
});

/** Mulberry32: a failure can be made again by its seed. */
function randomOf(seed: number): (max: number) => number {
  let state = seed;
  return (max) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % max;
  };
}

const ALL = Object.values({ ...messages.TRANSPORT, ...messages.AUTHENTICATION, ...messages.CONNECTION });
/** What a client that serves a tunnel says. A session is mostly made of these, so that it gets far. */
const USUAL = [
  () => messages.bind('127.0.0.1', 0),
  () => messages.bind('team=blue', 0, false),
  () => messages.openSession(1),
  () => messages.shell(0),
  () => messages.confirmOpen(0, 0),
  () => messages.data(0, Buffer.alloc(1_000, 'x')),
  () => messages.windowAdjust(0, 100_000),
  () => messages.eof(0),
  () => messages.close(0),
];

function mutated(payload: Buffer, random: (max: number) => number): Buffer {
  const bytes = Buffer.from(payload);
  const at = random(Math.max(1, bytes.length));
  switch (random(6)) {
    case 0:
      if (bytes.length > 0) bytes[at] = random(256);
      return bytes;
    case 1:
      return bytes.subarray(0, at);
    case 2:
      return Buffer.concat([bytes.subarray(0, at), Buffer.alloc(random(40), random(256)), bytes.subarray(at)]);
    case 3:
      if (bytes.length > at + 4) bytes.writeUInt32BE([0, 1, 0x7fffffff, 0x80000000, 0xffffffff][random(5)] ?? 0, at);
      return bytes;
    case 4:
      return Buffer.concat([bytes, bytes]);
    default:
      return bytes;
  }
}

async function session(seed: number): Promise<void> {
  const random = randomOf(seed);
  const client = await RawSshClient.connect(gateway.port, `127.0.3.${1 + random(200)}`);
  if (random(8) > 0) await client.authenticate(key.file).catch(() => undefined);
  visitEveryTunnel(client);
  for (let n = 1 + random(12); n > 0; n -= 1) {
    const of = random(3) > 0 ? USUAL : ALL;
    const payload = (of[random(of.length)] as () => Buffer)();
    client.send(...Array.from({ length: random(10) === 0 ? 20 : 1 }, () => mutated(payload, random)));
    if (random(3) === 0) await sleep(random(4));
    // Bytes that no cipher made.
    if (random(40) === 0) client.socket.write(Buffer.alloc(1 + random(200), random(256)));
    if (random(40) === 0) client.rekey();
  }
  const end = random(3);
  if (end === 0) client.socket.end();
  if (end === 1) client.socket.resetAndDestroy();
  await client.isEndedWithin(20);
  client.destroy();
}

/** So that channels are opened, and bytes are under way when the session breaks. */
function visitEveryTunnel(client: RawSshClient): void {
  client.onMessage = ({ name, fields }) => {
    if (name !== 'REQUEST_SUCCESS' || !Buffer.isBuffer(fields[0]) || fields[0].length !== 4) return;
    const visitor = connect(fields[0].readUInt32BE(0), '127.0.0.1').on('error', () => undefined);
    visitor.write('hello');
    visitor.resume();
    setTimeout(() => visitor.destroy(), 100);
  };
}

it(`${SESSIONS} mutated sessions (seed ${SEED}) harm no other client`, async () => {
  await gateway.expectNeighbourServed(neighbour);
  const before = await gateway.memoryInUseMb();
  const files = gateway.openFiles;
  let next = 0;
  let broken = 0;
  const run = async (): Promise<void> => {
    while (next < SESSIONS) {
      const seed = SEED + next++;
      // A session that the gateway ends early is one of the right ends.
      await session(seed).catch(() => (broken += 1));
      if (seed % NEIGHBOUR_EVERY === 0) await gateway.expectNeighbourServed(neighbour);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
  await gateway.expectNeighbourServed(neighbour);
  expect(broken).toBeLessThan(SESSIONS / 20);
  expect(await gateway.metric('bytes_total{direction="in"}')).toBeGreaterThan(0);
  await eventually(async () => expect(await gateway.metric('tunnels')).toBe(0), 10_000);
  await eventually(() => expect(gateway.openFiles - files).toBeLessThan(30), 20_000);
  expect(gateway.residentMb).toBeLessThan(MAX_RESIDENT_MB);
  await eventually(async () => expect((await gateway.memoryInUseMb()) - before).toBeLessThan(MAX_GROWTH_MB), 30_000);
});
