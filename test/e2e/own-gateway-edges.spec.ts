import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { carry, complementOf, exchange, tcpServer, visit } from '../support/echo-target.js';
import { edgeTo } from '../support/edges.js';
import { until } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { OwnGateway } from '../support/own-gateway.js';
import { type KeyPair, type Login, logIn } from '../support/ssh-client.js';

let trial: OwnGateway;
let key: KeyPair;
beforeAll(async () => {
  trial = await OwnGateway.start({ edgeProxyProtocol: new Set(['proxied=yes']) });
  key = await trial.newCredential('bind:*=*');
});

const cleanUp: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const undo of cleanUp.splice(0)) await undo();
});
const create = async (path: string, body: object): Promise<string> => (await trial.service.admin.create(path, body)).id;
const groupOf = (label: string) => {
  const [name = '', value] = label.split('=');
  return create('/backends/tunnel_group', { labels: { [name]: value } });
};
const patch = (path: string, body: object) => trial.service.admin.patch(path, body);

/** An edge for the tunnels with a label. */
async function edgeFor(label: string, more: object = {}, port?: number) {
  const [name = '', value = ''] = label.split('=');
  const edge = await edgeTo(trial.service.admin, { [name]: value }, more, port);
  cleanUp.push(() => trial.service.admin.delete(edge.path));
  return edge;
}

async function tunnel(label: string, target = trial.target.port): Promise<Login> {
  const login = await logIn(trial.port, key, '-R', `${label}:0:127.0.0.1:${target}`);
  expect(login.isOpen ? 'open' : login.output()).toBe('open');
  cleanUp.push(login.close);
  return login;
}

const HELLO = Buffer.from('hello');
const answers = async (port: number): Promise<boolean> =>
  (await exchange('127.0.0.1', port, HELLO).catch(() => HELLO)).equals(complementOf(HELLO));

/** Whether a client was closed for this reason now. */
async function isRefused(port: number, outcome: string): Promise<boolean> {
  const count = async () => new RegExp(`outcome="${outcome}"} (\\d+)`).exec(await trial.metrics())?.[1];
  const before = await count();
  return !(await answers(port)) && (await count()) !== before;
}

const named = (name: string, port?: number) => tcpServer((socket) => socket.end(name), port);

/** All bytes that come until the end; none if the edge is not served, as it may be for a second after it was created. */
const readAll = (port: number, sent = ''): Promise<Buffer> => readToEnd(port, sent).catch(() => Buffer.alloc(0));

async function readToEnd(port: number, sent = ''): Promise<Buffer> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.end(sent);
  const parts: Buffer[] = [];
  for await (const part of socket) parts.push(part);
  return Buffer.concat(parts);
}

describe('an edge carries connections to the tunnels of its group', () => {
  it('in turn, and passes over one that does not connect or is gone', async () => {
    const { port } = await edgeFor('turn=1');
    const names = async (): Promise<string> =>
      (await Promise.all([1, 2, 3, 4].map(() => readAll(port)))).map(String).sort().join('');
    const first = await tunnel('turn=1', await named('a'));
    await tunnel('turn=1', await named('b'));
    await until(async () => (await names()) === 'aabb');
    await tunnel('turn=1', await freePort('127.0.0.1'));
    expect(await names()).toMatch(/^a+b+$/);
    await first.close();
    await until(async () => (await names()) === 'bbbb');
  });

  it('and closes them while there is none, or only those of other labels and accounts', async () => {
    const { port } = await edgeFor('none=1');
    await tunnel('none=2');
    await until(() => isRefused(port, 'no_tunnel'));
    await tunnel('none=1');
    expect(await answers(port)).toBe(true);
    expect(await trial.metrics()).toMatch(/tunnel_gateway_edge_connections_total{outcome="carried"} [1-9]/);
  });

  it('with a header of the PROXY protocol if the operator says so', async () => {
    const { port } = await edgeFor('proxied=yes');
    const target = await tcpServer((socket) => socket.pipe(socket));
    await tunnel('proxied=yes', target);
    await until(async () => (await readAll(port, 'x')).length > 0);
    const received = await readAll(port, 'hello');
    expect(received.subarray(0, 16).toString('hex')).toBe('0d0a0d0a000d0a515549540a2111000c');
    expect(received.subarray(16, 24).join('.')).toBe('127.0.0.1.127.0.0.1');
    expect(received.readUInt16BE(26)).toBe(port);
    expect(received.subarray(28).toString()).toBe('hello');
  });
});

describe('within a second of a change', () => {
  it('of rules, connections that they still allow stay, and others end', async () => {
    const policy = await create('/ip_policies', {});
    const allow = await create('/ip_policy_rules', { ip_policy_id: policy, cidr: '127.0.0.0/8', action: 'allow' });
    const { port } = await edgeFor('rules=1', { ip_restriction: { ip_policy_ids: [policy] } });
    await tunnel('rules=1');
    await until(() => answers(port));
    const connection = await visit(port);
    await create('/ip_policy_rules', { ip_policy_id: policy, cidr: '127.0.0.1', action: 'allow' });
    await trial.service.admin.delete(`/ip_policy_rules/${allow}`);
    await sleep(300);
    await carry(connection);
    await create('/ip_policy_rules', { ip_policy_id: policy, cidr: '127.0.0.0/8', action: 'deny' });
    await until(() => connection.destroyed);
    expect(await answers(port)).toBe(false);
    expect(await trial.metrics()).toMatch(/outcome="not_allowed"} [1-9]/);
  });

  it('of the labels of a group or the group of a backend, connections to tunnels that still match stay', async () => {
    const { port, group, path } = await edgeFor('labels=1');
    await tunnel('labels=1');
    await until(() => answers(port));
    const connection = await visit(port);
    const same = await groupOf('labels=1');
    await patch(path, { backend: { backend_id: same } });
    await patch(`/backends/tunnel_group/${group}`, { labels: { labels: '2' } });
    await sleep(300);
    await carry(connection);
    await patch(`/backends/tunnel_group/${same}`, { labels: { labels: '2' } });
    await until(() => connection.destroyed);
    expect(await answers(port)).toBe(false);
  });

  it('of hostports and backends: what is left out is closed, what is new is served', async () => {
    const { port, path, group } = await edgeFor('moved=1');
    await tunnel('moved=1');
    await until(() => answers(port));
    const connection = await visit(port);
    const further = await freePort('127.0.0.1');
    await patch(path, { hostports: [`127.0.0.1:${port}`, `127.0.0.1:${further}`] });
    await until(() => answers(further));
    await carry(connection);
    await patch(path, { hostports: [`127.0.0.1:${further}`] });
    await until(() => connection.destroyed);
    await expect(exchange('127.0.0.1', port, HELLO)).rejects.toThrow('ECONNREFUSED');
    await patch(path, { backend: { backend_id: group, enabled: false } });
    await until(async () => !(await answers(further)));
    await expect(exchange('127.0.0.1', further, HELLO)).rejects.toThrow('ECONNREFUSED');
  });

  it('of an edge that expires, connections end with it, and it serves again without its expiry', async () => {
    const expires_at = new Date(Date.now() + 4_000).toISOString();
    const { port, path } = await edgeFor('expiring=1', { expires_at });
    await tunnel('expiring=1');
    await until(() => answers(port));
    const connection = await visit(port);
    await until(() => connection.destroyed, 8_000);
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expires_at));
    expect(Date.now()).toBeLessThan(Date.parse(expires_at) + 1_500);
    expect(await answers(port)).toBe(false);
    await trial.service.admin.delete(`${path}/expiry`);
    await until(() => answers(port));
  });

  it('of the first edge at a hostport, the next one serves', async () => {
    const [one, two] = [await named('one'), await named('two')];
    const older = await edgeFor('older=1');
    const younger = await edgeFor('younger=1', {}, older.port);
    await tunnel('older=1', one);
    await tunnel('younger=1', two);
    await until(async () => String(await readAll(older.port)) === 'one');
    await patch(older.path, { backend: { backend_id: older.group, enabled: false } });
    await until(async () => String(await readAll(younger.port)) === 'two');
  });
});

describe('an edge is not served, and the log says why,', () => {
  const closedBecause = (port: number, why: string) =>
    until(() =>
      trial.log.some(({ message }) => message.startsWith(`127.0.0.1:${port} is closed`) && message.includes(why)),
    );

  it('while its IP restriction names an unknown policy', async () => {
    const { port, path } = await edgeFor('closed=1', { ip_restriction: { ip_policy_ids: ['ipp_unknown'] } });
    await tunnel('closed=1');
    await closedBecause(port, 'ipp_unknown');
    await expect(exchange('127.0.0.1', port, HELLO)).rejects.toThrow('ECONNREFUSED');
    await patch(path, { ip_restriction: { ip_policy_ids: ['ipp_unknown'], enabled: false } });
    await until(() => answers(port));
  });

  it('while the port is in use', async () => {
    const port = await named('in use', await freePort('127.0.0.1'));
    await edgeFor('closed=3', {}, port);
    await closedBecause(port, 'EADDRINUSE');
  });
});
