import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { GatewaySettings } from '../../src/gateway/settings-table.js';
import { networksIn, parseTunnelDomain } from '../../src/rules/index.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { askNames, servePage, serveProgram } from '../support/names.js';
import { OwnGateway } from '../support/own-gateway.js';
import { GATEWAY, startService } from '../support/service.js';
import { type Login, logIn, startSession } from '../support/ssh-client.js';

/** `ssh -R 80:localhost:8080` gives a URL that works. */
const tunnelDomain = parseTunnelDomain('https://tunnels.example.test');
let trial: OwnGateway;
let port: number;
beforeAll(async () => {
  port = await freePort('127.0.0.1');
  const service = await startService({ ...GATEWAY, tunnelDomain });
  trial = await OwnGateway.startFor(service, service.app.url, { httpListen: { host: '127.0.0.1', port } });
});

describe('ssh -R', () => {
  it.each(['80', '443', '*:80'])('%s: serves the given name of the credential, and shows its URL', async (bind) => {
    const target = await servePage('hello');
    const key = await trial.newCredential();
    const name = tunnelDomain.givenName(key.id);
    const session = startSession(trial.port, key, `${bind}:localhost:${target}`);
    await eventually(async () => expect(session.output()).toContain(`https://${name}`));
    expect(await askNames(port, name)).toEqual({ status: 200, text: 'hello' });
    expect(trial.log).toContainEqual(expect.objectContaining({ event: 'tunnel_opened', url: `https://${name}` }));
    await eventually(async () => {
      const { body } = await trial.service.admin.get('/tunnels');
      const shown = { public_url: `https://${name}`, proto: 'https' };
      expect(body.tunnels).toContainEqual(expect.objectContaining(shown));
    });
  });

  it('leaves a record of each visitor, and not of each request', async () => {
    const key = await trial.newCredential();
    await logIn(trial.port, key, '-R', `localhost:80:localhost:${await servePage('hello')}`);
    const agent = new Agent({ keepAlive: true });
    const host = tunnelDomain.givenName(key.id);
    for (let n = 0; n < 3; n += 1) expect(await askNames(port, host, agent)).toMatchObject({ status: 200 });
    agent.destroy();
    await eventually(async () => {
      const { body } = await trial.service.admin.get(`/edge_connection_records?credential_id=${key.id}`);
      expect(body.edge_connection_records).toMatchObject([{ host, edge_id: null, credential_id: key.id }]);
      expect(body.edge_connection_records[0].client).toMatch(/^127\.0\.0\.1:\d+$/);
      expect(body.edge_connection_records[0].bytes_out).toBeGreaterThan(100);
    });
  });

  it('shop:80: serves a name that the user chose, if the rules permit it', async () => {
    const target = await servePage('shop');
    await logIn(
      trial.port,
      await trial.newCredential('bind:shop.tunnels.example.test'),
      '-R',
      `shop:80:localhost:${target}`,
    );
    expect(await askNames(port, 'shop.tunnels.example.test')).toEqual({ status: 200, text: 'shop' });
  });

  it('80: is refused with the rule that it needs', async () => {
    const key = await trial.newCredential('bind:127.0.0.1:*');
    const session = startSession(trial.port, key, '80:localhost:9');
    const rule = `bind:${tunnelDomain.givenName(key.id)}`;
    await eventually(async () => expect(session.output()).toContain(`it needs the rule ${rule}`));
  });
});

describe('visitors of one address', () => {
  const visit = (at: number, localAddress: string) =>
    connect({ port: at, host: '127.0.0.1', localAddress }).on('error', () => undefined);
  const serving = async (settings: Partial<GatewaySettings>) => {
    const at = await freePort('127.0.0.1');
    const httpListen = { host: '127.0.0.1', port: at };
    await OwnGateway.startFor(trial.service, trial.service.app.url, { httpListen, ...settings });
    return at;
  };

  it('leave places to those of another one', async () => {
    const at = await serving({ maxEdgeConnections: 20 });
    const flood = Array.from({ length: 40 }, () => visit(at, '127.0.0.2'));
    await eventually(async () => expect(flood.filter(({ destroyed }) => destroyed)).toHaveLength(20));
    expect(await askNames(at, 'nobody.example.test')).toMatchObject({ status: 404 });
    for (const socket of flood) socket.destroy();
  });

  it('come no faster than GATEWAY_MAX_CONNECTIONS_PER_SECOND, those of two seconds at once', async () => {
    const at = await serving({ maxConnectionsPerSecond: 10 });
    const flood = Array.from({ length: 100 }, () => visit(at, '127.0.0.2'));
    await eventually(async () => expect(flood.filter(({ destroyed }) => destroyed).length).toBeGreaterThan(50));
    expect(await askNames(at, 'nobody.example.test')).toMatchObject({ status: 404 });
    for (const socket of flood) socket.destroy();
  });
});

it('of all that come through one proxy, the name with most requests without an answer gives way', async () => {
  const at = await freePort('127.0.0.1');
  const httpListen = { host: '127.0.0.1', port: at };
  const httpProxies = networksIn('127.0.0.1');
  const settings = { httpListen, httpProxies, maxEdgeConnections: 10 };
  const gateway = await OwnGateway.startFor(trial.service, trial.service.app.url, settings);
  const { port: slow } = await serveProgram(() => undefined);
  const { port: quick } = await serveProgram((_, response) => response.end('quick'));
  const names = ['-R', `slow.test:80:127.0.0.1:${slow}`, '-R', `quick.test:80:127.0.0.1:${quick}`];
  await logIn(gateway.port, await trial.newCredential(), ...names);
  const waiting = Array.from({ length: 10 }, () => {
    const socket = connect(at, '127.0.0.1').on('error', () => undefined);
    return socket.resume();
  });
  for (const socket of waiting) socket.write('GET / HTTP/1.1\r\nHost: slow.test\r\n\r\n');
  await eventually(async () => expect(await askNames(at, 'quick.test')).toEqual({ status: 200, text: 'quick' }));
  await eventually(async () => expect(waiting.some(({ destroyed }) => destroyed)).toBe(true));
  for (const socket of waiting) socket.destroy();
});

describe('a request that has ended', () => {
  const HOST = 'ended.example.test';
  let at: number;
  let login: Login;
  beforeAll(async () => {
    at = await freePort('127.0.0.1');
    const settings = { httpListen: { host: '127.0.0.1', port: at }, maxEdgeConnections: 3 };
    const gateway = await OwnGateway.startFor(trial.service, trial.service.app.url, settings);
    const { server, port: target } = await serveProgram((_, response) => response.end('here'));
    server.on('upgrade', (_, socket) =>
      socket.end('HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
    );
    login = await logIn(gateway.port, await trial.newCredential(), '-R', `${HOST}:80:127.0.0.1:${target}`);
  });
  /** Asks more often than there are places. */
  async function askOften(headers: string, ms: number): Promise<void> {
    for (let n = 0; n < 5; n += 1) {
      const socket = connect(at, '127.0.0.1').on('error', () => undefined);
      socket.resume().write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n${headers}\r\n`);
      socket.setTimeout(ms, () => socket.destroy());
      await once(socket, 'close');
    }
  }

  it('with another protocol leaves its place', async () => {
    await askOften('Connection: Upgrade\r\nUpgrade: x\r\n', 1_000);
    expect(await askNames(at, HOST)).toEqual({ status: 200, text: 'here' });
  });

  it('since its visitor left while the tunnel was asked leaves its place', async () => {
    login.freeze();
    await askOften('', 200);
    login.thaw();
    await eventually(async () => expect(await askNames(at, HOST)).toEqual({ status: 200, text: 'here' }));
  });
});
