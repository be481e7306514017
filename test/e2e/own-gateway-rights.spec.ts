import type { Socket } from 'node:net';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { carry, exchange, visit } from '../support/echo-target.js';
import { eventually } from '../support/eventually.js';
import { expireNow } from '../support/expire.js';
import { FaultyProxy } from '../support/faulty-proxy.js';
import { freePort } from '../support/free-port.js';
import { OwnGateway } from '../support/own-gateway.js';
import { GATEWAY, startCopy } from '../support/service.js';
import type { KeyPair, Login } from '../support/ssh-client.js';

let trial: OwnGateway;
beforeAll(async () => {
  trial = await OwnGateway.start();
});

interface Tunnel {
  readonly key: KeyPair & { readonly id: string };
  readonly port: number;
  readonly login: Login;
  /** A connection through it that has carried bytes. */
  readonly visitor: Socket;
}

async function openTunnel(gateway: OwnGateway, ...rules: string[]): Promise<Tunnel> {
  const port = await freePort('127.0.0.1');
  const key = await gateway.newCredential(...rules.map((rule) => rule.replace('{port}', String(port))));
  const login = await gateway.bind(key, `127.0.0.1:${port}`, 'team=blue:0');
  expect(login.isOpen ? 'open' : login.output()).toBe('open');
  return { key, port, login, visitor: await visit(port) };
}

/** Waits until the listener and the connections through it are gone; returns the time that it took. */
async function closed({ port, visitor }: Tunnel): Promise<number> {
  const started = performance.now();
  await eventually(() => expect(visitor.destroyed || visitor.readableEnded).toBe(true));
  await eventually(() => expect(exchange('127.0.0.1', port, Buffer.from('x'))).rejects.toThrow('ECONNREFUSED'));
  return performance.now() - started;
}

async function expectOpen({ port, visitor }: Tunnel): Promise<void> {
  await carry(visitor);
  (await visit(port)).destroy();
}

describe('an open tunnel, with the connections through it, is closed within a second', () => {
  it.each([
    ['its credential is deleted', ({ id }: { id: string }) => trial.service.admin.delete(`/ssh_credentials/${id}`)],
    [
      'its rules change',
      ({ id }: { id: string }) => trial.service.admin.patch(`/ssh_credentials/${id}`, { acl: ['bind:team=blue'] }),
    ],
    ['its credential expires', ({ id }: { id: string }) => expireNow(trial.service.admin, `/ssh_credentials/${id}`)],
    [
      'its credential may be used from elsewhere only',
      ({ id }: { id: string }) =>
        trial.service.admin.put(`/ssh_credentials/${id}/source_restriction`, { cidrs: ['192.0.2.0/24'] }),
    ],
  ])('after %s', async (_, change) => {
    const tunnel = await openTunnel(trial, 'bind:127.0.0.1:{port}', 'bind:team=blue');
    expect((await change(tunnel.key)).status).toBeLessThan(300);
    expect(await closed(tunnel)).toBeLessThan(3_000);
    await tunnel.login.close();
  });

  it('after its owner was deactivated', async () => {
    const { body: user } = await trial.service.admin.post('/bot_users', { name: 'someone' });
    const tunnel = await openTunnel(trial, 'bind:127.0.0.1:{port}', 'bind:team=blue');
    await trial.service.admin.delete(`/ssh_credentials/${tunnel.key.id}`);
    expect(await closed(tunnel)).toBeLessThan(3_000);
    const port = await freePort('127.0.0.1');
    const { publicKey } = tunnel.key;
    const { status } = await trial.service.admin.post('/ssh_credentials', { public_key: publicKey, owner_id: user.id });
    expect(status).toBe(201);
    const login = await trial.bind(tunnel.key, `127.0.0.1:${port}`);
    await trial.service.admin.patch(`/bot_users/${user.id}`, { active: false });
    await eventually(() => expect(exchange('127.0.0.1', port, Buffer.from('x'))).rejects.toThrow('ECONNREFUSED'));
    await login.close();
  });
});

describe('an open tunnel stays', () => {
  it('while its right does, and so do the other binds of its client', async () => {
    const tunnel = await openTunnel(trial, 'bind:127.0.0.1:{port}', 'bind:team=blue');
    const { status } = await trial.service.admin.patch(`/ssh_credentials/${tunnel.key.id}`, {
      acl: [`bind:127.0.0.1`],
    });
    expect(status).toBe(200);
    const labels = () =>
      trial.gateway.tunnels
        .ofAccount(trial.service.app.firstAccount.accountId)
        .filter(({ target }) => 'label' in target);
    await eventually(() => expect(labels()).toEqual([]));
    await expectOpen(tunnel);
    expect((await trial.service.admin.patch(`/ssh_credentials/${tunnel.key.id}`, { description: 'x' })).status).toBe(
      200,
    );
    await expectOpen(tunnel);
    await tunnel.login.close();
  });
});

describe('while the service cannot be reached', () => {
  it('open tunnels stay, new binds and logins are refused, and what changed meanwhile is found', async () => {
    const servicePort = Number(new URL(trial.service.app.url).port);
    const proxy = await FaultyProxy.to(servicePort);
    const gateway = await OwnGateway.startFor(trial.service, `http://${proxy.host}`, {});
    const [kept, lost] = [await openTunnel(gateway), await openTunnel(gateway)];
    proxy.leadTo(1);
    const health = async () => (await fetch(`${gateway.metricsUrl}/healthz`)).json();
    await eventually(async () => expect(await health()).toMatchObject({ service: 'away' }));
    await expectOpen(kept);
    const refused = await gateway.bind(kept.key, 'team=blue:0');
    expect(refused.isOpen).toBe(false);
    expect(await gateway.metrics()).toMatch(/logins_total\{outcome="service_unavailable"\} [1-9]/);
    await trial.service.admin.delete(`/ssh_credentials/${lost.key.id}`);
    await expectOpen(lost);
    proxy.leadTo(servicePort);
    await closed(lost);
    await expectOpen(kept);
    // The stream about edges may be back later than the one that closed the tunnel.
    await eventually(async () => expect(await health()).not.toMatchObject({ service: 'away' }));
    const again = await gateway.bind(kept.key, 'team=blue:0');
    expect(again.isOpen).toBe(true);
    for (const login of [kept.login, lost.login, again]) await login.close();
  });

  it('a gateway starts, and serves once it is there', async () => {
    const port = await freePort('127.0.0.1');
    const gateway = await OwnGateway.startFor(trial.service, `http://127.0.0.1:${port}`, {});
    const key = await trial.newCredential();
    expect((await gateway.bind(key, 'team=blue:0')).isOpen).toBe(false);
    const copy = await startCopy(trial.service, { ...GATEWAY, port });
    await eventually(
      async () =>
        expect(await (await fetch(`${gateway.metricsUrl}/healthz`)).json()).toMatchObject({ service: 'followed' }),
      10_000,
    );
    const login = await gateway.bind(key, 'team=blue:0');
    expect(login.isOpen).toBe(true);
    await login.close();
    await gateway.gateway.stop();
    await copy.stop();
  });
});
