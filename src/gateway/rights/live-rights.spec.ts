import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '../../../test/support/eventually.js';
import { routesOf, ServiceClient, type TargetBody } from '../service-client.js';
import { type HeldRight, LiveRights } from './live-rights.js';
import { ServiceState } from './service-state.js';

const SILENT = { line: () => undefined };
const NO_SESSIONS = { followed: () => undefined, stopped: () => undefined };
const KEY = { accountId: 'ac_1', fingerprint: 'SHA256:a', source: '192.0.2.7' };

/** What the service answers now, and what it was asked. */
let server: Server;
let stream: ServerResponse | undefined;
let asked: TargetBody[];
let rechecks: { readonly credentials: object[]; readonly reservations?: string }[];
/** Undefined: an answer that says nothing about them. */
let reservations: string | undefined;
let refused: string | undefined;
let authorizeStatus: number;
let decisionsLeftOut: number;
/** In what it permits. */
let expiry: { readonly expires_in_ms?: number };
let answersAfterMs: number;
let lost: string[];
let rights: LiveRights;
let service: ServiceClient;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  if (request.url?.endsWith('/changes')) {
    stream = response;
    return response.write('event: ready\ndata: {}\n\n');
  }
  const body = (await json(request)) as { readonly target: TargetBody[] } & (typeof rechecks)[number];
  if (request.url?.endsWith('/recheck')) {
    rechecks.push(body);
    const told = reservations && { reservations, reservations_changed: body.reservations !== reservations };
    return response.end(JSON.stringify({ changed: [], ...(told || {}) }));
  }
  asked.push(...body.target);
  const decision =
    refused === undefined
      ? { allowed: true, reason: 'permitted', account_id: 'ac_1', credential_id: 'sshcr_1', version: 1, ...expiry }
      : { allowed: false, reason: refused };
  const decisions = body.target.slice(decisionsLeftOut).map(() => decision);
  await sleep(answersAfterMs, undefined, { ref: false });
  return response.writeHead(authorizeStatus).end(JSON.stringify({ decisions }));
}

beforeEach(async () => {
  server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  [stream, asked, rechecks, lost, reservations, refused, authorizeStatus] = [
    undefined,
    [],
    [],
    [],
    'one',
    undefined,
    200,
  ];
  const serviceUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  service = new ServiceClient(routesOf({ serviceUrl, gatewayToken: 'a-token' }));
  rights = new LiveRights(service, new ServiceState(SILENT, 60_000, ['changes']), NO_SESSIONS);
  [decisionsLeftOut, expiry, answersAfterMs] = [0, {}, 0];
  await rights.start();
});
afterEach(async () => {
  await rights.stop();
  service.close();
  server.closeAllConnections();
  server.close();
});

const rightTo = (question: TargetBody): HeldRight => ({
  ...{ ...KEY, question, credentialId: 'sshcr_1', version: 1 },
  lose: (reason) => void lost.push(`${JSON.stringify(question)} ${reason}`),
});
const hold = (question: TargetBody): boolean => rights.hold(rightTo(question), rights.changeCount);
const tell = (...names: string[]): void => {
  stream?.write(`event: reserved\ndata: ${JSON.stringify({ names })}\n\n`);
};
/** Breaks the stream, and waits until it is followed again. */
async function followAgain(): Promise<void> {
  stream?.destroy();
  await until(() => !rights.isFollowing);
  await until(() => rights.isFollowing);
}

const HELD: readonly TargetBody[] = [
  { address: 'a.test:7001' },
  { address: 'a.test:7002', aliases: ['b.test:7002', '127.0.0.1:7002'] },
  { domain: 'x.shop.test' },
  { domain: '*.wild.test' },
  { label: { key: 'a.test', value: 'a.test:7001' } },
];

describe('after a reservation the gateway asks again about', () => {
  it.each([
    ['the address', 'a.test:7001', [0]],
    ['an address by another name of it', '127.0.0.1:7002', [1]],
    ['each address at the domain', 'a.test', [0, 1]],
    ['an address at the domain by another name of it', 'b.test', [1]],
    ['each name under the wildcard', '*.test', [0, 1, 2, 3]],
    ['the domain', 'x.shop.test', [2]],
    ['a wildcard above the name', 'c.wild.test', [3]],
    ['a wildcard above the address', 'c.wild.test:443', [3]],
    ['nothing else', 'other.test:7001', []],
  ])('%s', async (_, name, expected) => {
    for (const question of HELD) hold(question);
    tell(name);
    // A change of the last one of all shows that the service has nothing more to answer.
    hold({ address: 'last.test:1' });
    tell('last.test:1');
    await until(() => JSON.stringify(asked).includes('last.test'));
    expect(asked.filter((target) => HELD.some((one) => JSON.stringify(one) === JSON.stringify(target)))).toEqual(
      expected.map((n) => HELD[n]),
    );
  });

  it('a right that it had asked about before, and holds only now', async () => {
    const before = rights.changeCount;
    tell('a.test:7001');
    await until(() => rights.changeCount > before);
    refused = 'reserved_elsewhere';
    expect(rights.hold(rightTo({ address: 'a.test:7001' }), before)).toBe(true);
    await until(() => lost.length > 0);
  });
});

it('what another account has reserved is lost, for that reason', async () => {
  hold({ address: 'a.test:7001' });
  refused = 'reserved_elsewhere';
  tell('a.test:7001');
  await until(() => lost.length > 0);
  expect(lost).toEqual(['{"address":"a.test:7001"} reserved_elsewhere']);
});

it('after reservations of others, whose names it may not know, the gateway asks again about all, one time for many', async () => {
  for (const question of HELD) hold(question);
  for (let n = 0; n < 50; n += 1) {
    stream?.write(`event: reserved\ndata: ${JSON.stringify({ names: [], of_others: true })}\n\n`);
  }
  hold({ address: 'last.test:1' });
  tell('last.test:1');
  await until(() => asked.filter((target) => JSON.stringify(target).includes('last.test')).length > 1);
  for (const question of HELD) expect(asked).toContainEqual(question);
  expect(asked.length).toBeLessThan(10 * (HELD.length + 1));
});

describe('when the stream is back, the gateway', () => {
  it('asks about nothing if the reservations are the same, and about everything if they changed', async () => {
    for (const question of HELD) hold(question);
    await followAgain();
    expect(asked).toEqual([]);
    reservations = 'two';
    await followAgain();
    expect(asked).toEqual(HELD);
    expect(rechecks.map((one) => one.reservations)).toEqual([undefined, undefined, 'one', 'one']);
  });

  it('sends the same reservations until it could ask about everything', async () => {
    hold({ address: 'a.test:7001' });
    reservations = 'two';
    authorizeStatus = 503;
    stream?.destroy();
    await until(() => asked.length > 1);
    authorizeStatus = 200;
    await until(() => rights.isFollowing);
    expect(new Set(rechecks.slice(2).map((one) => one.reservations))).toEqual(new Set(['one']));
  });

  it('asks about everything if the service does not tell', async () => {
    hold({ address: 'a.test:7001' });
    reservations = undefined;
    stream?.destroy();
    await until(() => asked.length > 0);
  });
});

describe('an expiry', () => {
  const QUESTION = { address: 'a.test:7001' };
  /** Asks, and holds the right; returns when the question was sent. */
  async function ask(): Promise<number> {
    const [countBefore, sentAt] = [rights.changeCount, performance.now()];
    const [decision] = await service.authorize(KEY.fingerprint, [QUESTION], KEY.source);
    rights.hold({ ...rightTo(QUESTION), expiresAt: decision?.expiresAt }, countBefore);
    return sentAt;
  }
  const goAway = (): void => {
    server.closeAllConnections();
    server.close();
  };

  it('that falls into an outage ends the right, by the time since the question was sent', async () => {
    [expiry, answersAfterMs] = [{ expires_in_ms: 700 }, 400];
    const sentAt = await ask();
    goAway();
    await until(() => lost.length > 0);
    const lateMs = performance.now() - sentAt - 700;
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThan(answersAfterMs);
    expect(lost).toEqual(['{"address":"a.test:7001"} expired']);
  });

  it.each([
    ['set', {}, { expires_in_ms: 500 }, 1],
    ['prolonged', { expires_in_ms: 500 }, { expires_in_ms: 60_000 }, 0],
    ['removed', { expires_in_ms: 500 }, {}, 0],
  ])('that was %s before an outage counts as it is now', async (_, before, now, losses) => {
    expiry = before;
    await ask();
    expiry = now;
    stream?.write(`event: changed\ndata: ${JSON.stringify({ credential_ids: ['sshcr_1'] })}\n\n`);
    await until(() => asked.length === 2);
    await sleep(50);
    goAway();
    await sleep(900);
    expect(lost).toHaveLength(losses);
  });

  it('of which a service that hangs tells nothing ends the right within a second', async () => {
    expiry = { expires_in_ms: 500 };
    const sentAt = await ask();
    answersAfterMs = 5_000;
    await until(() => lost.length > 0);
    expect(performance.now() - sentAt).toBeLessThan(1_500);
    expect(rights.isFollowing).toBe(true);
  });
});

describe('a question about many targets', () => {
  it('goes in several requests, by the number of their names, and its decisions are in order', async () => {
    const aliases = Array.from({ length: 100 }, (_, n) => `alias-${n}.test:1`);
    const targets = Array.from({ length: 30 }, (_, n) => ({ address: `${n}.test:1`, aliases }));
    let requests = 0;
    server.on('request', () => {
      requests += 1;
    });
    expect(await service.authorize(KEY.fingerprint, targets, KEY.source)).toHaveLength(30);
    expect([requests, asked]).toEqual([4, targets]);
  });

  it('fails if a decision is missing, since the others could be taken for it', async () => {
    decisionsLeftOut = 1;
    const targets = [{ address: 'a.test:1' }, { address: 'b.test:1' }];
    await expect(service.authorize(KEY.fingerprint, targets, KEY.source)).rejects.toThrow('did not decide about each');
  });
});
