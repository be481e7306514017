import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { GatewayProcess } from '../support/gateway-process.js';
import { stopAtEnd } from '../support/leftovers.js';
import { RawSshClient } from '../support/raw-ssh-client.js';
import type { KeyPair } from '../support/ssh-client.js';
import * as messages from '../support/ssh-messages.js';

jest.setTimeout(120_000);
const HOST = '127.0.0.1';
const MAX_GROWTH_MB = 15;
const MAX_RESIDENT_MB = 512;
/** One source sends everything here. */
const WITHOUT_RATES = {
  GATEWAY_MAX_CONNECTIONS: '0',
  GATEWAY_MAX_CONNECTIONS_PER_SECOND: '0',
  GATEWAY_MAX_REQUESTS_PER_SECOND: '0',
};

let gateway: GatewayProcess;
let key: KeyPair;
let neighbour: KeyPair;
let before: number;
let files: number;
beforeAll(async () => {
  gateway = await GatewayProcess.start(WITHOUT_RATES);
  key = await gateway.newCredential('bind:*=*', 'bind:127.0.0.1');
  neighbour = await gateway.newCredential('bind:127.0.0.1');
  await gateway.expectNeighbourServed(neighbour);
  before = await gateway.memoryInUseMb();
  files = gateway.openFiles;
});
afterEach(() => gateway.expectNeighbourServed(neighbour));

const made = (makers: Readonly<Record<string, () => Buffer>>): Buffer[] => Object.values(makers).map((make) => make());
const [TRANSPORT, CONNECTION] = [made(messages.TRANSPORT), made(messages.CONNECTION)];
const AUTHENTICATION = made(messages.AUTHENTICATION);

/** Every state in which a message can come. Each returns a client in it. */
const STATES = {
  'before the service of authentication': () => RawSshClient.connect(gateway.port),
  'before login': async () => {
    const client = await RawSshClient.connect(gateway.port);
    client.send(messages.TRANSPORT.serviceRequest());
    await client.next('SERVICE_ACCEPT');
    return client;
  },
  'while a login is asked for': async () => {
    const client = await RawSshClient.connect(gateway.port);
    client.send(messages.TRANSPORT.serviceRequest());
    await client.next('SERVICE_ACCEPT');
    client.sign(key.file);
    return client;
  },
  'after login': () => RawSshClient.logIn(gateway.port, key.file),
  'with an open session': async () => {
    const client = await RawSshClient.logIn(gateway.port, key.file);
    client.send(messages.openSession());
    await client.next('CHANNEL_OPEN_CONFIRMATION');
    return client;
  },
  'with a connection through a tunnel': async () => {
    const { client } = await withVisitor();
    return client;
  },
  'with a closed channel': async () => {
    const { client } = await withVisitor();
    client.send(messages.close(0));
    await client.next('CHANNEL_CLOSE');
    return client;
  },
  'in a key exchange': async () => {
    const client = await RawSshClient.logIn(gateway.port, key.file);
    client.send(messages.TRANSPORT.kexInit());
    return client;
  },
};

/** The first channel of the gateway has the number 0. */
async function withVisitor(): Promise<{ client: RawSshClient; visitor: Socket }> {
  const client = await RawSshClient.logIn(gateway.port, key.file);
  client.send(messages.bind(HOST, 0));
  const bound = await client.next('REQUEST_SUCCESS');
  const opened = client.next('CHANNEL_OPEN');
  const visitor = connect(bound.fields[0].readUInt32BE(0), HOST).on('error', () => undefined);
  stopAtEnd(async () => void visitor.destroy());
  await once(visitor, 'connect');
  await opened;
  client.send(messages.confirmOpen(0, 0));
  visitor.write('x');
  await client.next('CHANNEL_DATA');
  return { client, visitor };
}

type Form = (payload: Buffer) => readonly Buffer[];

/** Sends each message over a connection of its own, several at a time. The gateway may answer until it ends. */
async function sendEach(payloads: readonly Buffer[], state: keyof typeof STATES, form: Form): Promise<void> {
  const send = async (payload: Buffer): Promise<void> => {
    const client = await STATES[state]();
    client.send(...form(payload));
    client.socket.end();
    await client.isEndedWithin(3_000);
    client.destroy();
  };
  for (let n = 0; n < payloads.length; n += 8) await Promise.all(payloads.slice(n, n + 8).map(send));
}

it.each(Object.keys(STATES) as (keyof typeof STATES)[])('every message %s harms no other client', async (state) => {
  await sendEach([...TRANSPORT, ...AUTHENTICATION, ...CONNECTION], state, (payload) => [payload]);
});

const FORMS: readonly (readonly [string, Form])[] = [
  ['twice', (payload) => [payload, payload]],
  ['cut', (payload) => [payload.subarray(0, Math.max(1, payload.length - 3))]],
  ['cut after its number', (payload) => [payload.subarray(0, 1)]],
  ['with more behind', (payload) => [Buffer.concat([payload, Buffer.alloc(64, 0xff)])]],
  ['huge', (payload) => [Buffer.concat([payload, Buffer.alloc(30_000, 0x41)])]],
  ['a hundred times', (payload) => Array.from({ length: 100 }, () => payload)],
];

/** The states in which the gateway reads these messages. In the others it refuses most of them by their number. */
describe.each<[keyof typeof STATES, readonly Buffer[]]>([
  ['before login', [...TRANSPORT, ...AUTHENTICATION]],
  ['with a connection through a tunnel', [...TRANSPORT, ...CONNECTION]],
])('%s', (state, payloads) => {
  it.each(FORMS)('every message %s harms no other client', (_, form) => sendEach(payloads, state, form));
});

it('memory and descriptors are back after all of this', async () => {
  await eventually(() => expect(gateway.openFiles - files).toBeLessThan(30), 20_000);
  expect(gateway.residentMb).toBeLessThan(MAX_RESIDENT_MB);
  expect((await gateway.memoryInUseMb()) - before).toBeLessThan(MAX_GROWTH_MB);
  expect(await gateway.metric('tunnels')).toBe(0);
  expect(await gateway.metric('buffered_bytes')).toBe(0);
});
