import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { complementOf } from '../support/echo-target.js';
import { edgeTo } from '../support/edges.js';
import { eventually } from '../support/eventually.js';
import { GatewayProcess } from '../support/gateway-process.js';
import { addAccount, type TestPrincipal } from '../support/principals.js';
import { type KeyPair, logIn, newKeyPair } from '../support/ssh-client.js';

/** The hosts of the account that floods the gateway; each of its edges has a thousand hostports of one. */
const FLOODED = 25;
const floodedHost = (n: number): string => `flood${n}.test`;

let trial: GatewayProcess;
let flooding: TestPrincipal;
let neighbour: TestPrincipal;
beforeAll(async () => {
  const hosts = Array.from({ length: FLOODED }, (_, n) => `${floodedHost(n)}=127.0.0.1`);
  trial = await GatewayProcess.start({
    GATEWAY_HOSTS: ['127.0.0.1', ...hosts].join(','),
    GATEWAY_MAX_EDGE_CONNECTIONS: '40',
  });
  [flooding, neighbour] = [await addAccount(trial.service), await addAccount(trial.service)];
});

/** The gateway may still have the changes of a flood before it. */
const BEHIND_FLOOD_MS = 30_000;

/** An edge of the account with a tunnel behind it. */
async function servedEdge(by: TestPrincipal, label: string) {
  const key: KeyPair = await newKeyPair();
  await by.client.create('/ssh_credentials', { public_key: key.publicKey });
  const login = await logIn(trial.port, key, '-R', `${label}:0:127.0.0.1:${trial.target.port}`);
  expect(login.isOpen ? 'open' : login.output()).toBe('open');
  const [name = '', value = ''] = label.split('=');
  const { path, port } = await edgeTo(by.client, { [name]: value });
  await eventually(async () => void (await client(port)).destroy(), BEHIND_FLOOD_MS);
  return { path, port, login };
}

const HELLO = Buffer.from('hello');

/** Also after an error, which `once` of node:events would reject with. */
const closeOf = (socket: Socket): Promise<unknown> => new Promise((resolve) => socket.once('close', resolve));

/** A connection that was answered through the tunnel. Rejects if it was closed instead. */
async function client(port: number, localAddress = '127.0.0.1') {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  socket.on('error', () => undefined);
  socket.write(HELLO);
  const data = await Promise.race([
    new Promise<Buffer>((resolve) => socket.once('data', resolve)),
    closeOf(socket).then(() => Buffer.alloc(0)),
  ]);
  if (!complementOf(data).equals(HELLO)) throw new Error('it was closed');
  return socket;
}

describe('while an account changes 25 edges of 1,000 hostports without pause', () => {
  it('connections to the edge of another account end within a second of its change', async () => {
    const edges = await Promise.all(
      Array.from({ length: FLOODED }, (_, n) => {
        const hostports = Array.from({ length: 1_000 }, (_, port) => `${floodedHost(n)}:${20_000 + port}`);
        return flooding.client.create('/edges/tcp', { hostports });
      }),
    );
    const served = await Promise.all([0, 1, 2].map((n) => servedEdge(neighbour, `neighbour=${n}`)));
    let isOver = false;
    const floods = edges.map(async ({ id }) => {
      for (let n = 0; !isOver; n += 1) await flooding.client.patch(`/edges/tcp/${id}`, { description: String(n) });
    });
    const cutAfterMs: number[] = [];
    for (const { path, port, login } of served) {
      const socket = await client(port);
      await sleep(300);
      const closed = closeOf(socket);
      const { status } = await neighbour.client.put(`${path}/ip_restriction`, { ip_policy_ids: ['none'] });
      expect(status).toBe(200);
      const answeredAt = performance.now();
      await closed;
      cutAfterMs.push(performance.now() - answeredAt);
      await login.close();
    }
    isOver = true;
    await Promise.all(floods);
    // One second is the guarantee, half of it was measured. The rest is the patience of a busy machine.
    expect(cutAfterMs.toSorted((a, b) => a - b)[1]).toBeLessThan(2_000);
    expect(Math.max(...cutAfterMs)).toBeLessThan(10_000);
  });
});

describe('when all places for connections to edges are taken', () => {
  it('another account gets half of them, and another source half of those of its account', async () => {
    const [ofFlooding, ofNeighbour] = [await servedEdge(flooding, 'places=1'), await servedEdge(neighbour, 'places=2')];
    const open = async (port: number, count: number, from?: string) => {
      const sockets = await Promise.allSettled(Array.from({ length: count }, () => client(port, from)));
      return sockets.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    };
    const left = (sockets: readonly { readonly destroyed: boolean }[]) =>
      sockets.filter(({ destroyed }) => !destroyed).length;
    const first = await open(ofFlooding.port, 50);
    expect(left(first)).toBe(40);
    const second = await open(ofNeighbour.port, 30);
    await eventually(() => expect([left(first), left(second)]).toEqual([20, 20]));
    const third = await open(ofFlooding.port, 30, '127.0.0.9');
    await eventually(() => expect([left(first), left(second), left(third)]).toEqual([10, 20, 10]));
    const metrics = await trial.metrics();
    expect(metrics).toMatch(/tunnel_gateway_displaced_edge_connections_total 30\n/);
    expect(metrics).toMatch(/tunnel_gateway_edge_connections_total\{outcome="too_many_connections"\} \d+/);
    for (const socket of [...first, ...second, ...third]) socket.destroy();
  });
});
