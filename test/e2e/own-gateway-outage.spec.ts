import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { GatewaySettings } from '../../src/gateway/settings-table.js';
import { exchange, visit } from '../support/echo-target.js';
import { edgeTo } from '../support/edges.js';
import { eventually } from '../support/eventually.js';
import { OwnGateway } from '../support/own-gateway.js';
import { PickyProxy } from '../support/picky-proxy.js';
import { addAccount } from '../support/principals.js';
import { GATEWAY, type Service, startCopy, startService } from '../support/service.js';
import { type KeyPair, startSession } from '../support/ssh-client.js';
import { TunnelClient } from '../support/tunnel-client.js';

jest.setTimeout(90_000);
const HOST = '127.0.0.1';
const STREAMS = ['/ssh_gateway/changes', '/ssh_gateway/edges/changes'] as const;

let service: Service;
beforeAll(async () => {
  service = await startService(GATEWAY);
});

async function gatewayBehind(proxy: PickyProxy, settings: Partial<GatewaySettings> = {}): Promise<OwnGateway> {
  const gateway = await OwnGateway.startFor(service, proxy.url, settings);
  await eventually(() =>
    expect(gateway.log.map(({ message }) => message)).toContain('following the changes of the service'),
  );
  return gateway;
}

const enter = (gateway: OwnGateway, key: KeyPair): Promise<TunnelClient> =>
  TunnelClient.logIn(gateway.port, key.file, gateway.target.port);

const isServed = async (port: number): Promise<boolean> =>
  (await exchange(HOST, port, Buffer.from('x')).catch(() => Buffer.alloc(0))).length === 1;

const newEdge = async (label: string): Promise<number> => (await edgeTo(service.admin, { of: label })).port;

describe('a right is held until the last connection of its bind is gone:', () => {
  it.each([
    ['deleted', (id: string) => service.admin.delete(`/ssh_credentials/${id}`)],
    ['narrowed', (id: string) => service.admin.patch(`/ssh_credentials/${id}`, { acl: ['bind:other=one'] })],
  ])('those of a cancelled bind end when its credential is %s, through an edge too', async (_, change) => {
    const gateway = await OwnGateway.startFor(service, service.app.url, {});
    const label = `cancelled-${Math.random()}`;
    const edge = await newEdge(label);
    const key = await gateway.newCredential(`bind:of=${label}`, 'bind:127.0.0.1');
    const client = await enter(gateway, key);
    const port = await client.bind(HOST, 0);
    const virtual = await client.bind(`of=${label}`, 0);
    await eventually(async () => expect(await isServed(edge)).toBe(true));
    const visitors = [await visit(port), await visit(edge)];
    await client.cancel(HOST, port);
    await client.cancel(`of=${label}`, virtual);
    await eventually(async () => expect(await isServed(port)).toBe(false));
    await sleep(200);
    expect(visitors.map(({ destroyed }) => destroyed)).toEqual([false, false]);
    expect((await change(key.id)).status).toBeLessThan(300);
    await eventually(() => expect(visitors.map(({ destroyed }) => destroyed)).toEqual([true, true]));
    await gateway.gateway.stop();
  });

  it('a cancelled bind without a connection holds nothing', async () => {
    const gateway = await OwnGateway.startFor(service, service.app.url, {});
    const client = await enter(gateway, await gateway.newCredential());
    const port = await client.bind(HOST, 0);
    const visitor = await visit(port);
    await client.cancel(HOST, port);
    const held = (): number =>
      (gateway.gateway as unknown as { parts: readonly { held?: ReadonlySet<unknown> }[] }).parts.find(
        (part) => part.held,
      )?.held?.size ?? -1;
    expect(held()).toBe(1);
    visitor.destroy();
    await eventually(() => expect(held()).toBe(0));
    await gateway.gateway.stop();
  });
});

it('a key that is deleted in one account and made in another one keeps no tunnel, 10 of 10', async () => {
  const gateway = await OwnGateway.startFor(service, service.app.url, {});
  const other = await addAccount(service);
  for (let n = 0; n < 10; n += 1) {
    const key = await gateway.newCredential('bind:127.0.0.1');
    const client = await enter(gateway, key);
    const visitor = await visit(await client.bind(HOST, 0));
    await service.admin.delete(`/ssh_credentials/${key.id}`);
    const made = await other.client.post('/ssh_credentials', { public_key: key.publicKey });
    expect(made.status).toBe(201);
    await eventually(() => expect(visitor.destroyed).toBe(true));
    await expect(client.bind(HOST, 0)).rejects.toThrow();
    await other.client.delete(`/ssh_credentials/${made.body.id}`);
  }
  await gateway.gateway.stop();
});

describe('an outage is one state for tunnels and edges:', () => {
  it('after the grace both are closed, also when half of the service is back, and both are served once all of it is', async () => {
    const proxy = await PickyProxy.to(service.app.url);
    const gateway = await gatewayBehind(proxy, { outageGraceMs: 1_000 });
    const edge = await newEdge('half');
    const key = await gateway.newCredential();
    const client = await enter(gateway, key);
    const port = await client.bind(HOST, 0);
    await client.bind('of=half', 0);
    await eventually(async () => expect(await isServed(edge)).toBe(true));
    proxy.refuse(...STREAMS);
    await sleep(300);
    expect([await isServed(port), await isServed(edge)]).toEqual([true, true]);
    // Only the stream of rights is back.
    proxy.allow(STREAMS[0]);
    await sleep(2_500);
    expect([await isServed(port), await isServed(edge)]).toEqual([false, false]);
    expect(gateway.gateway.tunnels.size).toBe(0);
    proxy.refuse(STREAMS[0]);
    // Only that of edges.
    proxy.allow(STREAMS[1]);
    await sleep(1_500);
    expect(await isServed(edge)).toBe(false);
    proxy.allow(STREAMS[0]);
    await eventually(async () => {
      const again = await enter(gateway, key);
      await again.bind('of=half', 0);
    }, 10_000);
    await eventually(async () => expect(await isServed(edge)).toBe(true), 10_000);
    await gateway.gateway.stop();
  });

  it('an expiry that falls into it ends the tunnel at its time, also one of two credentials at the time of the later one, and other changes wait', async () => {
    const copy = await startCopy(service, GATEWAY);
    const gateway = await OwnGateway.startFor(service, copy.app.url, { outageGraceMs: 60_000 });
    const expire = async ({ id }: { readonly id: string }, at: number) =>
      expect(
        await service.admin.put(`/ssh_credentials/${id}/expiry`, { expires_at: new Date(at).toISOString() }),
      ).toMatchObject({ status: 200 });
    const [early, twice, deleted, never] = await Promise.all([1, 2, 3, 4].map(() => gateway.newCredential()));
    if (!early || !twice || !deleted || !never) throw new Error('four keys were made');
    const younger = { id: await gateway.createCredential(twice, ['bind:*=*']) };
    // The gateway reads one expiry with the bind, and hears of the others afterwards.
    const soon = Date.now() + 8_000;
    await expire(early, soon);
    const sessions = [early, twice, deleted, never].map((key) =>
      startSession(gateway.port, key, `outage=yes:0:${HOST}:${gateway.target.port}`),
    );
    for (const { output } of sessions) await eventually(() => expect(output()).toMatch(/bound .*\r?\n/), 10_000);
    await expire(twice, soon);
    await expire(younger, soon + 1_500);
    await sleep(500);
    await copy.stop();
    expect(Date.now()).toBeLessThan(soon);
    await service.admin.delete(`/ssh_credentials/${deleted.id}`);
    const ended: (number | undefined)[] = sessions.map(() => undefined);
    for (const [n, session] of sessions.entries())
      void session.ended.then((at) => {
        ended[n] = performance.timeOrigin + at;
      });
    await eventually(() => expect(ended[1]).toBeDefined(), 25_000);
    for (const [n, at] of [soon, soon + 1_500].entries()) {
      expect((ended[n] ?? 0) - at).toBeGreaterThan(-100);
      expect((ended[n] ?? 0) - at).toBeLessThan(1_000);
      expect(sessions[n]?.output()).toMatch(/closed .*expired/);
    }
    expect(ended.slice(2)).toEqual([undefined, undefined]);
    await gateway.gateway.stop();
  });

  it('a bind that was asked for before the break is not held after the grace', async () => {
    const proxy = await PickyProxy.to(service.app.url);
    const gateway = await gatewayBehind(proxy, { outageGraceMs: 300 });
    const client = await enter(gateway, await gateway.newCredential());
    proxy.delay('/authorize', 1_500);
    const bound = client.bind(HOST, 0);
    bound.catch(() => undefined);
    await sleep(200);
    proxy.refuse(...STREAMS);
    await expect(bound).rejects.toThrow();
    expect(gateway.gateway.tunnels.size).toBe(0);
    await gateway.gateway.stop();
  });

  it('a lost event is noticed by its number, and what it was about is found', async () => {
    const proxy = await PickyProxy.to(service.app.url);
    const gateway = await gatewayBehind(proxy);
    const [key, other] = [await gateway.newCredential(), await gateway.newCredential()];
    const client = await enter(gateway, key);
    const visitor = await visit(await client.bind(HOST, 0));
    await sleep(300);
    proxy.loseOne(/event: changed/);
    await service.admin.delete(`/ssh_credentials/${key.id}`);
    // Without a further change, the next heartbeat would tell it within 5 s.
    await sleep(300);
    await service.admin.delete(`/ssh_credentials/${other.id}`);
    await eventually(() => expect(visitor.destroyed).toBe(true));
    expect(JSON.stringify(gateway.log)).toContain('was lost');
    await gateway.gateway.stop();
  });
});
