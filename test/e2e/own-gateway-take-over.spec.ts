import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { tcpServer } from '../support/echo-target.js';
import { edgeTo } from '../support/edges.js';
import { eventually } from '../support/eventually.js';
import { FaultyProxy } from '../support/faulty-proxy.js';
import { freePort } from '../support/free-port.js';
import { stopAtEnd } from '../support/leftovers.js';
import { type LogLine, OwnGateway } from '../support/own-gateway.js';
import { type KeyPair, type Login, logIn, runSsh } from '../support/ssh-client.js';
import { TunnelClient } from '../support/tunnel-client.js';

const HOST = '127.0.0.1';
const HELD = 'the address is held by another connection of this credential, which is alive';

let trial: OwnGateway;
let attentive: OwnGateway;
let key: KeyPair & { readonly id: string };
beforeAll(async () => {
  trial = await OwnGateway.start();
  // Only the first one serves edges here, since each gateway would listen at their ports.
  const edgePorts = [{ min: 1, max: 1 }];
  attentive = await OwnGateway.startFor(trial.service, trial.service.app.url, { keepaliveMs: 300, edgePorts });
  key = await trial.newCredential('bind:*=*', `bind:${HOST}`);
});

/** A server that says its name to each connection, and keeps it open. */
const named = (name: string): Promise<number> => tcpServer((socket) => void socket.write(name));

function visit(port: number): Socket {
  const socket = connect(port, HOST).on('error', () => undefined);
  stopAtEnd(async () => void socket.destroy());
  return socket;
}

/** The name of the server that a new connection reaches, or '' if the connection is closed. */
async function nameAt(port: number): Promise<string> {
  const socket = visit(port);
  const closed = new Promise<[]>((resolve) => socket.once('close', () => resolve([])));
  const [name = ''] = await Promise.race([once(socket, 'data').catch(() => []), closed]);
  socket.destroy();
  return String(name);
}

/** ssh with a tunnel to a server with this name. */
async function tunnel(at: OwnGateway, port: number, name: string, through = at.port, by = key): Promise<Login> {
  return logIn(through, by, '-R', `${HOST}:${port}:${HOST}:${await named(name)}`);
}

type Line = LogLine & Readonly<Record<string, unknown>>;
const linesOf = (at: OwnGateway, fields: object): readonly Line[] =>
  (at.log as readonly Line[]).filter((line) => Object.entries(fields).every(([name, value]) => line[name] === value));
const reasonsOf = (at: OwnGateway, fields: object) => linesOf(at, fields).map(({ reason }) => reason);

async function timed<Value>(act: Promise<Value>): Promise<[Value, number]> {
  const since = performance.now();
  return [await act, performance.now() - since];
}

describe('a client that is cut off and started again serves at its port within 3 s:', () => {
  it.each(['the network swallows its bytes', 'its process is stopped'])('%s', async (how) => {
    const port = await freePort(HOST);
    const proxy = await FaultyProxy.to(trial.port);
    const old = await tunnel(trial, port, 'old', proxy.ownPort);
    const visitor = visit(port);
    await once(visitor, 'data');
    if (how.includes('process')) old.freeze();
    else proxy.fallSilent();
    const [again, ms] = await timed(tunnel(trial, port, 'new'));
    expect(again.isOpen ? 'open' : again.output()).toBe('open');
    expect(await nameAt(port)).toBe('new');
    // Three seconds, and the patience of a busy machine.
    expect(ms).toBeLessThan(4_500);
    await eventually(() => expect(visitor.destroyed).toBe(true));
    expect(reasonsOf(trial, { event: 'tunnel_ended', target: `${HOST}:${port}` })).toEqual(['taken_over']);
    await eventually(() => expect(reasonsOf(trial, { event: 'connection_ended' })).toContain('taken_over'));
    await Promise.all([old.close(), again.close()]);
  });
});

describe('a connection that is alive', () => {
  it('keeps its port, and the newer one is told why', async () => {
    const port = await freePort(HOST);
    const old = await tunnel(trial, port, 'old');
    const { stderr, code } = await runSsh(trial.port, key, ['-R', `${HOST}:${port}:${HOST}:1`]);
    expect(stderr).toContain(`refused ${HOST}:${port}: ${HELD}`);
    expect(code).not.toBe(0);
    expect(await nameAt(port)).toBe('old');
    expect(linesOf(trial, { event: 'bind_refused', bind: `${HOST}:${port}` })).toEqual([
      expect.objectContaining({ reason: 'held', credential: key.id }),
    ]);
    expect(await trial.metrics()).toContain('refused_binds_total{reason="held"}');
    await old.close();
  });

  it('loses its port to the newer one at once with GATEWAY_TAKE_OVER=always', async () => {
    const settings = { takeOver: 'always', edgePorts: [{ min: 1, max: 1 }] } as const;
    const always = await OwnGateway.startFor(trial.service, trial.service.app.url, settings);
    const port = await freePort(HOST);
    const [old, newer] = [await tunnel(always, port, 'old'), await tunnel(always, port, 'new')];
    expect([newer.isOpen, await nameAt(port)]).toEqual([true, 'new']);
    expect(reasonsOf(always, { event: 'tunnel_ended', target: `${HOST}:${port}` })).toEqual(['taken_over']);
    await Promise.all([old.close(), newer.close()]);
  });

  it('gets the port of a client without a sign of life, also when others of its credential want it too', async () => {
    const port = await freePort(HOST);
    const old = await tunnel(trial, port, 'old');
    old.freeze();
    const logins = await Promise.all(['a', 'b', 'c', 'd'].map((name) => tunnel(trial, port, name)));
    const names = logins.flatMap(({ isOpen }, n) => (isOpen ? ['abcd'[n]] : []));
    expect(names).toHaveLength(1);
    expect(await nameAt(port)).toBe(names[0]);
    const refused = { event: 'bind_refused', bind: `${HOST}:${port}` };
    expect(reasonsOf(trial, refused)).toEqual(['held', 'held', 'held']);
    await Promise.all([old, ...logins].map(({ close }) => close()));
    await eventually(async () => expect(await nameAt(port)).toBe(''));
    await eventually(() => expect(trial.gateway.tunnels.size).toBe(0));
    const last = await tunnel(trial, port, 'last');
    expect([last.isOpen, await nameAt(port)]).toEqual([true, 'last']);
    await last.close();
  });
});

describe('a tunnel of a group whose client gives no sign of life', () => {
  it('gets no new connection from an edge; another tunnel gets all, and both do once it is back', async () => {
    const { port } = await edgeTo(trial.service.admin, { app: 'silent' });
    const to = async (name: string) => logIn(trial.port, key, '-R', `app=silent:0:${HOST}:${await named(name)}`);
    const logins = [await to('a'), await to('b')] as const;
    const names = async (count: number): Promise<string> => {
      const found = await Promise.all(Array.from({ length: count }, () => nameAt(port)));
      return [...new Set(found)].sort().join('');
    };
    await eventually(async () => expect(await names(4)).toBe('ab'));
    logins[0].freeze();
    // These find out that it is silent, and go to the other one.
    const [found, findingMs] = await timed(names(4));
    expect(found).toBe('b');
    expect(findingMs).toBeLessThan(4_500);
    const [later, ms] = await timed(names(20));
    expect(later).toBe('b');
    expect(ms).toBeLessThan(900);
    logins[1].freeze();
    await eventually(async () => expect(await nameAt(port)).toBe(''), 8_000);
    expect((await timed(nameAt(port)))[1]).toBeLessThan(900);
    for (const login of logins) login.thaw();
    await eventually(async () => expect(await names(4)).toBe('ab'));
    await Promise.all(logins.map(({ close }) => close()));
  });
});

describe('the log says why a connection ended:', () => {
  const endOf = async (end: (login: Login, proxy: FaultyProxy) => void): Promise<unknown> => {
    const port = await freePort(HOST);
    const before = reasonsOf(attentive, { event: 'connection_ended' }).length;
    const proxy = await FaultyProxy.to(attentive.port);
    const login = await tunnel(attentive, port, 'any', proxy.ownPort);
    end(login, proxy);
    await eventually(() => expect(reasonsOf(attentive, { event: 'connection_ended' })).toHaveLength(before + 1), 5_000);
    const [reason] = reasonsOf(attentive, { event: 'connection_ended' }).slice(before);
    await eventually(() =>
      expect(reasonsOf(attentive, { event: 'tunnel_ended', target: `${HOST}:${port}` })).toEqual([reason]),
    );
    await login.close();
    return reason;
  };

  it.each<[string, string, (login: Login, proxy: FaultyProxy) => void]>([
    ['client', 'ssh ends as with Ctrl-C', (login) => void login.close()],
    ['lost', 'kill -9 of ssh', (login) => login.kill()],
    ['lost', 'the network swallows its bytes', (_, proxy) => proxy.fallSilent()],
  ])('%s, when %s', async (reason, _, end) => {
    expect(await endOf(end)).toBe(reason);
  });

  it('client, when Ctrl-C is pressed in its session', async () => {
    const before = reasonsOf(attentive, { event: 'connection_ended' }).length;
    const tunnels = await TunnelClient.logIn(attentive.port, key.file, attentive.target.port);
    await tunnels.bind(HOST, 0);
    tunnels.client.shell((_, session) => void session.write('\x03'));
    await eventually(() =>
      expect(reasonsOf(attentive, { event: 'connection_ended' }).slice(before)).toEqual(['client']),
    );
  });
});
