import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from '../support/api-client.js';
import { claimEnds } from '../support/claimed-ends.js';
import { complementOf } from '../support/echo-target.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { makeIpPolicy } from '../support/ip-policies.js';
import { type LogLine, OwnGateway } from '../support/own-gateway.js';
import { addAccount } from '../support/principals.js';
import { logIn, newKeyPair } from '../support/ssh-client.js';
import { CONNECTION, SHOWN_CASES, type TrafficPolicyCase, UNREADABLE_CASES } from '../support/traffic-policy-cases.js';

/** What the clock of the gateway says next, before it goes on. */
let times: number[] = [];
let trial: OwnGateway;
let own: Owner;
beforeAll(async () => {
  trial = await OwnGateway.start({}, () => times.shift() ?? Date.now());
  own = await ownerWithTunnel(trial.service.admin);
});

/** An account with a tunnel, and the group for its edges. */
interface Owner {
  readonly client: ApiClient;
  readonly group: string;
}

async function ownerWithTunnel(client: ApiClient, gateway = trial): Promise<Owner> {
  const key = await newKeyPair();
  await client.create('/ssh_credentials', { public_key: key.publicKey });
  const login = await logIn(gateway.port, key, '-R', `policies=1:0:127.0.0.1:${gateway.target.port}`);
  expect(login.isOpen ? 'open' : login.output()).toBe('open');
  return { client, group: (await client.create('/backends/tunnel_group', { labels: { policies: '1' } })).id };
}

const cleanUp: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const undo of cleanUp.splice(0)) await undo();
});

/** An edge with a hostport of its own. */
async function edgeWith(policy: string, { owner = own, host = '127.0.0.1', more = {} } = {}) {
  const port = await freePort('127.0.0.1');
  const hostport = `${host}:${port}`;
  const modules = { backend: { backend_id: owner.group }, traffic_policy: { value: policy }, ...more };
  const { id } = await owner.client.create('/edges/tcp', { hostports: [hostport], ...modules });
  cleanUp.push(() => owner.client.delete(`/edges/tcp/${id}`));
  const change = async (value: string): Promise<void> => {
    const { status } = await owner.client.put(`/edges/tcp/${id}/traffic_policy`, { value });
    expect(status).toBe(200);
  };
  return { id, port, hostport, path: `/edges/tcp/${id}`, change };
}
type Edge = Awaited<ReturnType<typeof edgeWith>>;

const ipPolicyWith = async (...rules: readonly string[]): Promise<string> => (await makeIpPolicy(own.client, rules)).id;

const HELLO = Buffer.from('hello');

/** A connection that stays, and shows whether it still carries bytes. */
async function open(port: number, localAddress = '127.0.0.1') {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  const closed = new Promise<undefined>((resolve) => {
    socket.on('error', () => undefined).once('close', () => resolve(undefined));
  });
  const works = async (): Promise<boolean> => {
    const answer = new Promise<Buffer>((resolve) => void socket.once('data', resolve));
    socket.write(HELLO);
    return (await Promise.race([answer, closed]))?.equals(complementOf(HELLO)) === true;
  };
  return { closed, works, carries: await works(), end: () => socket.destroy(), isClosed: () => socket.destroyed };
}

async function isLetIn(port: number, localAddress?: string): Promise<boolean> {
  const { carries, end } = await open(port, localAddress);
  end();
  return carries;
}

/** The patience is that of a busy machine. */
const expectServed = (...edges: Edge[]) =>
  eventually(() => {
    const lines = trial.log.filter(({ message }) => message === 'serving an edge');
    const served = new Set(lines.map((line) => 'edge' in line && line.edge));
    expect(edges.filter(({ id }) => !served.has(id))).toEqual([]);
  }, 30_000);

type EdgeLine = LogLine & Readonly<Record<string, string | undefined>>;
const linesSince = (before: number, { hostport }: Edge): EdgeLine[] =>
  (trial.log.slice(before) as EdgeLine[]).filter((line) => line.hostport === hostport);

/** The log line of a new connection. If the limits of the log leave it out, another connection is made. */
async function lineOf(edge: Edge, visit: () => Promise<boolean>): Promise<EdgeLine> {
  for (;;) {
    const before = trial.log.length;
    await visit();
    for (let n = 0; n < 10; n += 1) {
      const line = linesSince(before, edge).find(({ event }) => event?.match(/_(opened|refused)$/));
      if (line !== undefined) return line;
      await sleep(10);
    }
    await sleep(1_000);
  }
}

const outcomeOf = ({ event, outcome, reason, place }: EdgeLine): string =>
  event === 'edge_connection_opened'
    ? 'allowed'
    : outcome === 'traffic_policy'
      ? `${reason} at ${place}`
      : `${outcome}`;
const logsOf = ({ logs }: EdgeLine): { readonly metadata: unknown }[] => JSON.parse(logs ?? '[]');

/** Connects as the case says: from the source itself if it is on this machine. */
function visitOf({ connection }: TrafficPolicyCase, source: string, port: number): () => Promise<boolean> {
  if (connection === undefined && source.startsWith('127.')) return () => isLetIn(port, source);
  const { clientPort, serverIp, serverPort, startedAt, now } = { ...CONNECTION, ...connection };
  const ends = { remotePort: clientPort, localAddress: serverIp, localPort: serverPort };
  const from = claimEnds({ remoteAddress: source, ...(connection !== undefined && ends) });
  return async () => {
    times = connection === undefined ? [] : [Date.parse(startedAt), Date.parse(now)];
    return isLetIn(port, from);
  };
}

describe('the table of policies', () => {
  it('holds for real connections', async () => {
    const edges = new Map<TrafficPolicyCase, Edge>();
    for (const one of SHOWN_CASES) {
      let text = one.policy;
      for (const [name, rules] of Object.entries(one.ipPolicies ?? {})) {
        text = text.replaceAll(name, await ipPolicyWith(...rules));
      }
      edges.set(one, await edgeWith(text));
    }
    await expectServed(...edges.values());
    const wrong: object[] = [];
    for (const [one, edge] of edges) {
      const lines: EdgeLine[] = [];
      for (const source of Object.keys(one.sources)) {
        lines.push(await lineOf(edge, visitOf(one, source, edge.port)));
      }
      const found = {
        outcomes: lines.map(outcomeOf),
        logs: lines.flatMap((line) => logsOf(line).map(({ metadata }) => metadata)),
      };
      const logs = JSON.parse(JSON.stringify(one.logs ?? []).replaceAll(CONNECTION.endpointId, edge.id));
      const expected = { outcomes: Object.values(one.sources), logs };
      try {
        expect(found).toEqual(expected);
      } catch {
        wrong.push({ what: one.what, found, expected });
      }
    }
    expect(wrong).toEqual([]);
  }, 300_000);

  it('of unreadable ones: their edges are not served, and the log says why, once', async () => {
    const edges = new Map<string, Edge>();
    for (const { policy, what } of UNREADABLE_CASES.slice(0, 2)) edges.set(what, await edgeWith(policy));
    const closed = ({ hostport, id }: Edge): string[] =>
      trial.log
        .map(({ message }) => message)
        .filter((message) => message.startsWith(`${hostport} is closed: edge ${id} is not served: its traffic policy`));
    await eventually(() => {
      expect([...edges].filter(([, edge]) => closed(edge).length === 0).map(([what]) => what)).toEqual([]);
    }, 10_000);
    // Another change of each edge, which the gateway looks at as well.
    for (const edge of edges.values()) await own.client.patch(edge.path, { description: 'changed' });
    const last = await edgeWith('{}');
    await expectServed(last);
    for (const { what, why } of UNREADABLE_CASES.slice(0, 2)) {
      const messages = edges.has(what) ? closed(edges.get(what) as Edge) : [];
      expect({ what, messages }).toEqual({ what, messages: [expect.stringContaining(why)] });
    }
  }, 120_000);
});

const denying = (expression: string): string =>
  JSON.stringify({ on_tcp_connect: [{ expressions: [expression], actions: [{ type: 'deny' }] }] });
const FROM_2 = "conn.client_ip == '127.0.0.2'";

describe('a change of a policy is in force for open connections', () => {
  it('those that it still lets in stay, and others end', async () => {
    const edge = await edgeWith('{}');
    await expectServed(edge);
    const [stays, ends] = [await open(edge.port), await open(edge.port, '127.0.0.2')];
    await edge.change(denying(FROM_2));
    await eventually(() => expect(ends.isClosed()).toBe(true));
    expect(await stays.works()).toBe(true);
    expect([await isLetIn(edge.port), await isLetIn(edge.port, '127.0.0.2')]).toEqual([true, false]);
    await edge.change('deny');
    await eventually(() => expect(stays.isClosed()).toBe(true));
    await expect(once(connect(edge.port, '127.0.0.1'), 'connect')).rejects.toThrow('ECONNREFUSED');
    await edge.change('{}');
    await eventually(async () => expect(await isLetIn(edge.port, '127.0.0.2')).toBe(true));
  });

  it('they count from their true begin', async () => {
    const edge = await edgeWith('{}');
    await expectServed(edge);
    const young = await open(edge.port);
    times = [Date.now() - 7_200_000];
    const old = await open(edge.port);
    await edge.change(denying("timestamp(time.now) - conn.ts.start > duration('1h')"));
    await eventually(() => expect(old.isClosed()).toBe(true));
    expect(await young.works()).toBe(true);
    young.end();
  });

  it('rules of an IP policy that only the traffic policy names count at once', async () => {
    const ipPolicy = await ipPolicyWith('+127.0.0.0/8');
    const actions = [{ type: 'restrict-ips', config: { ip_policies: [ipPolicy] } }];
    const edge = await edgeWith(JSON.stringify({ on_tcp_connect: [{ actions }] }));
    await expectServed(edge);
    const [stays, ends] = [await open(edge.port), await open(edge.port, '127.0.0.2')];
    expect([stays.carries, ends.carries]).toEqual([true, true]);
    await own.client.create('/ip_policy_rules', { ip_policy_id: ipPolicy, cidr: '127.0.0.2', action: 'deny' });
    await eventually(() => expect(ends.isClosed()).toBe(true));
    expect(await stays.works()).toBe(true);
    stays.end();
  });
});

it('what a policy logs is in the record of the connection', async () => {
  const metadata = { from: `\${conn.client_ip}` };
  const edge = await edgeWith(
    JSON.stringify({ on_tcp_connect: [{ actions: [{ type: 'log', config: { metadata } }] }] }),
  );
  await expectServed(edge);
  expect(await isLetIn(edge.port)).toBe(true);
  await eventually(async () => {
    const { body } = await own.client.get(`/edge_connection_records?edge_id=${edge.id}`);
    const logs = [{ place: 'on_tcp_connect[0].actions[0]', metadata: { from: '127.0.0.1' } }];
    expect(body.edge_connection_records).toEqual([expect.objectContaining({ edge_id: edge.id, logs })]);
  }, 10_000);
});

it('GATEWAY_TRAFFIC_POLICIES=ignore serves edges as if they had no policies', async () => {
  const gatewayHosts = [{ host: 'ignoring.test', listenAddress: '127.0.0.1' }];
  const settings = { gatewayHosts, edgeTrafficPolicies: 'ignore' as const };
  const ignoring = await OwnGateway.startFor(trial.service, trial.service.app.url, settings);
  await ownerWithTunnel(own.client, ignoring);
  for (const policy of [denying('true'), 'deny']) {
    const edge = await edgeWith(policy, { host: 'ignoring.test' });
    await eventually(async () => expect(await isLetIn(edge.port)).toBe(true));
  }
});

const numbers = `[${Array.from({ length: 30 }, (_, n) => n).join(',')}]`;
const passing = {
  expressions: [`${numbers}.exists(x, ${numbers}.exists(y, x < -1 && y < -1))`],
  actions: [{ type: 'deny' }],
};
/** Takes almost as many steps as a decision may take, and then denies. */
const LONG = JSON.stringify({ on_tcp_connect: [passing, passing, passing, { actions: [{ type: 'deny' }] }] });

describe('a hostile policy', () => {
  let neighbour: Owner;
  let edge: Edge;
  beforeAll(async () => {
    neighbour = await ownerWithTunnel((await addAccount(trial.service)).client);
  });
  async function neighbourConnects(): Promise<Awaited<ReturnType<typeof open>>> {
    edge = await edgeWith(denying(FROM_2), { owner: neighbour });
    await expectServed(edge);
    return open(edge.port);
  }

  it('for many open connections lets the bytes and the clients of others through meanwhile', async () => {
    const connection = await neighbourConnects();
    const hostile = await edgeWith('{}');
    await expectServed(hostile);
    const all = await Promise.all(Array.from({ length: 300 }, () => open(hostile.port)));
    expect(all.filter(({ carries }) => !carries)).toEqual([]);
    let rounds = 0;
    const closedIn = all.map(({ closed }) => closed.then(() => rounds));
    await hostile.change(LONG);
    for (; !all.every(({ isClosed }) => isClosed()); rounds += 1) {
      expect([await connection.works(), await isLetIn(edge.port)]).toEqual([true, true]);
    }
    const [first, last] = [Math.min(...(await Promise.all(closedIn))), Math.max(...(await Promise.all(closedIn)))];
    expect(last - first).toBeGreaterThan(3);
    connection.end();
  });

  it('of the largest size, many times over, delays no change of others', async () => {
    const connection = await neighbourConnects();
    const expressions = [
      "conn.client_ip == '192.0.2.7' && conn.client_port in [1, 2, 3] && size('aaaaaaaaaaaaaaaaaaaa') > 1",
    ];
    const rule = { expressions, actions: [{ type: 'deny' }] };
    const large = (n: number): string =>
      JSON.stringify({
        on_tcp_connect: [
          { name: `${n}`, actions: [{ type: 'log', config: { metadata: {} } }] },
          ...Array(95).fill(rule),
        ],
      });
    const hostile: Edge[] = [];
    for (let n = 0; n < 8; n += 1) hostile.push(await edgeWith(large(n)));
    const visits = hostile.map(({ port }) => eventually(async () => expect(await isLetIn(port)).toBe(true), 30_000));
    expect(await connection.works()).toBe(true);
    await edge.change(denying('true'));
    await eventually(() => expect(connection.isClosed()).toBe(true));
    await Promise.all(visits);
  });
});
