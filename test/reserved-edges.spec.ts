import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient } from './support/api-client.js';
import { EventStream } from './support/event-stream.js';
import { eventually } from './support/eventually.js';
import { provenOf } from './support/found.js';
import { addAccount, type TestPrincipal } from './support/principals.js';
import { runCli } from './support/process.js';
import { repaired } from './support/repaired.js';
import { type Service, startCopy, startService } from './support/service.js';

const ALL = 'token-of-a-gateway-for-all';
const THEIRS = 'token-of-a-gateway-for-one';
const REST_MS = 1_500;
const POOL = { host: '1.tcp.example.com', from: 20_000, to: 20_099, region: '' };

let first: Service;
/** The gateways' instance, which starts after the account of a token was made. */
let service: Service;
/** An instance whose deletions have a short rest, and which knows no pool. */
let hasty: Service;
/** The account that reserves. */
let ours: TestPrincipal;
let theirs: TestPrincipal;
let gateways: { readonly all: ApiClient; readonly theirs: ApiClient };
beforeAll(async () => {
  first = await startService({ addressPools: [POOL] });
  [ours, theirs] = [await addAccount(first), await addAccount(first)];
  const gatewayTokens = [{ token: ALL }, { name: 'one', accountId: theirs.accountId, token: THEIRS }];
  service = await startCopy(first, { gatewayTokens, addressPools: [POOL] });
  hasty = await startCopy(first, { gatewayTokens, reservationRestMs: REST_MS });
  gateways = { all: new ApiClient(service.app.url, ALL), theirs: new ApiClient(service.app.url, THEIRS) };
});
afterAll(async () => {
  await hasty.stop();
  await service.stop();
  await first.stop();
});

let used = 0;
/** A name that no other test uses. */
const fresh = (): string => {
  used += 1;
  return `edges-${used}.example.com`;
};
const create = async (path: string, body: object, { client }: TestPrincipal): Promise<string> =>
  (await client.create(path, body)).id;
const backend = { backend_id: 'bkdtg_1' };
const edgeAt = (hostports: readonly string[], by: TestPrincipal) => create('/edges/tcp', { hostports, backend }, by);
const reserveAddr = (addr: string, by = ours) => create('/reserved_addrs', { addr }, by);
const reserveDomain = (domain: string, by = ours) => create('/reserved_domains', { domain }, by);

/** The edge at a hostport. A question about it alone and one about several must have the same answer. */
async function servedAt(hostport: string, gateway = gateways.all): Promise<string | null> {
  const alone = (await gateway.get(`/ssh_gateway/edges?${new URLSearchParams({ hostport })}`)).body;
  const several = (await gateway.post('/ssh_gateway/edges', { hostports: [`other-${hostport}`, hostport] })).body;
  const id = alone.edge?.edge.id ?? null;
  expect(several).toEqual({
    edges: alone.edge === null ? [] : [alone.edge],
    hostports: [
      { hostport: `other-${hostport}`, edge_id: null, others: 0 },
      { hostport, edge_id: id, others: alone.others },
    ],
  });
  return id;
}

/** What it deletes rests for REST_MS. */
const atHasty = ({ client }: TestPrincipal) => new ApiClient(hasty.app.url, client.token);

/** What the check of an edge says about its hostports. */
const notServed = async (id: string, { client }: TestPrincipal) => {
  const answer = await client.post(`/edges/tcp/${id}/check`, { source: '192.0.2.7' });
  expect(answer).toMatchObject({ status: 200, body: { allowed: true, reason: 'no_restriction' } });
  return answer.body.not_served;
};

const TAKEN = { status: 409, body: { error_code: 'ERR_NGROK_7122' } };

describe('an edge at a hostport that another account has reserved', () => {
  it('is not served, however old it is; the check says why; the other account lists the hostport and is served', async () => {
    const hostport = `${fresh()}:443`;
    const older = await edgeAt([hostport, `free-${hostport}`], theirs);
    expect(await servedAt(hostport)).toBe(older);
    expect(await ours.client.post('/edges/tcp', { hostports: [hostport] })).toMatchObject(TAKEN);
    await reserveAddr(hostport);
    expect(await servedAt(hostport)).toBeNull();
    expect(await notServed(older, theirs)).toEqual([{ hostport, reason: 'reserved_elsewhere' }]);
    const edge = await edgeAt([hostport.toUpperCase()], ours);
    await edgeAt([hostport], ours);
    expect(await servedAt(hostport)).toBe(edge);
    expect(await notServed(edge, ours)).toEqual([]);
    expect(await servedAt(`free-${hostport}`)).toBe(older);
    expect(await theirs.client.post('/edges/tcp', { hostports: [hostport] })).toMatchObject(TAKEN);
  });

  it('is not served by a gateway for its account alone', async () => {
    const [hostport, own] = [`${fresh()}:443`, `${fresh()}:443`];
    await edgeAt([hostport], theirs);
    await reserveAddr(hostport);
    await edgeAt([hostport], ours);
    await reserveAddr(own, theirs);
    const edge = await edgeAt([own], theirs);
    expect(await servedAt(hostport, gateways.theirs)).toBeNull();
    expect(await servedAt(own, gateways.theirs)).toBe(edge);
  });

  it('does not crowd out the edge of that account, not even with 150 older edges', async () => {
    const hostport = `${fresh()}:443`;
    for (let n = 0; n < 150; n += 1) await edgeAt([hostport], theirs);
    await reserveAddr(hostport);
    const edge = await edgeAt([hostport], ours);
    expect(await servedAt(hostport)).toBe(edge);
  });

  it.each([
    ['a domain', (name: string) => [`a.${name}`, `a.${name}`]],
    ['a wildcard', (name: string) => [`*.${name}`, `b.a.${name}`]],
  ])('is not served if that account has reserved %s that covers its host, or the host itself', async (_, names) => {
    const [domain = '', host = ''] = names(fresh());
    const [covered, parent] = [`${host}:443`, `${domain.slice(2)}:443`];
    const older = await edgeAt([covered, parent], theirs);
    await reserveDomain(domain);
    expect(await servedAt(covered)).toBeNull();
    expect(await servedAt(parent)).toBe(older);
    expect(await notServed(older, theirs)).toEqual([{ hostport: covered, reason: 'reserved_elsewhere' }]);
    const edge = await edgeAt([covered], ours);
    expect(await servedAt(covered)).toBe(edge);
    expect(await ours.client.post('/edges/tcp', { hostports: [parent] })).toMatchObject(TAKEN);
  });
});

describe('a hostport that nobody may serve', () => {
  it('is one whose reservation was deleted, until it has rested: then the first edge serves again', async () => {
    const hostport = `${fresh()}:443`;
    const older = await edgeAt([hostport], theirs);
    const reservation = await reserveAddr(hostport);
    const edge = await edgeAt([hostport], ours);
    await atHasty(ours).delete(`/reserved_addrs/${reservation}`);
    expect(await servedAt(hostport)).toBeNull();
    for (const [id, by] of [[older, theirs] as const, [edge, ours] as const]) {
      expect(await notServed(id, by)).toEqual([{ hostport, reason: 'not_reserved' }]);
    }
    await sleep(REST_MS);
    expect(await servedAt(hostport)).toBe(older);
  });

  it('is one of a pool, until an account reserves it', async () => {
    const hostport = `${POOL.host}:${POOL.from}`;
    const [edge, beside] = [await edgeAt([hostport], theirs), await edgeAt([`${POOL.host}:${POOL.to + 1}`], theirs)];
    expect(await servedAt(hostport)).toBeNull();
    expect(await notServed(edge, theirs)).toEqual([{ hostport, reason: 'not_reserved' }]);
    expect(await notServed(beside, theirs)).toEqual([]);
    await reserveAddr(hostport, theirs);
    expect(await servedAt(hostport)).toBe(edge);
  });
});

describe('the account that has reserved a hostport', () => {
  it('gets it beside the claim of another account, and the error for a list names what it did not reserve', async () => {
    const [foreign, reserved] = [`${fresh()}:443`, `${fresh()}:443`];
    await edgeAt([foreign, reserved], theirs);
    await reserveAddr(reserved);
    const answer = await ours.client.post('/edges/tcp', { hostports: [reserved, foreign] });
    const msg = `hostports[1] '${foreign}' is already used by an edge of another account.`;
    expect(answer).toMatchObject({ ...TAKEN, body: { msg } });
    const edge = await edgeAt([], ours);
    expect((await ours.client.patch(`/edges/tcp/${edge}`, { hostports: [reserved] })).status).toBe(200);
  });

  it('keeps no claim of it longer than an edge, and the proof, the repair and doctor find nothing wrong', async () => {
    const hostport = `${fresh()}:443`;
    const older = await edgeAt([hostport], theirs);
    const reservation = await reserveAddr(hostport);
    const edges = [await edgeAt([hostport], ours), await edgeAt([hostport], ours)];
    const claims = async () => {
      const text = 'select account_id, holders, exclusive from claims where value = $1 order by exclusive';
      return (await service.pool.query(text, [`hostport:${hostport}`])).rows;
    };
    const both = [
      { account_id: ours.accountId, holders: 2, exclusive: false },
      { account_id: theirs.accountId, holders: 1, exclusive: true },
    ];
    expect(await claims()).toEqual(both);
    expect((await provenOf(service.app.database, {})).proof.differences).toBe(0);
    await service.pool.query('delete from claims where value = $1', [`hostport:${hostport}`]);
    await repaired(service.app.database);
    expect((await provenOf(service.app.database, {})).proof.differences).toBe(0);
    expect((await claims()).map(({ holders }) => holders).sort()).toEqual([1, 2]);
    const doctor = async () => (await runCli({ DATABASE_URL: service.databaseUrl }, 'doctor')).stdout;
    expect(await doctor()).not.toContain(hostport);
    await ours.client.delete(`/reserved_addrs/${reservation}`);
    expect(await doctor()).toMatch(`warning  claims      2 accounts have edges that list ${hostport} (`);
    await theirs.client.delete(`/edges/tcp/${older}`);
    expect(await claims()).toEqual([{ account_id: ours.accountId, holders: 2, exclusive: true }]);
    for (const id of edges) await ours.client.delete(`/edges/tcp/${id}`);
    expect(await claims()).toEqual([]);
  });

  it('has the exclusive claim once the other account leaves, also when it comes at that moment', async () => {
    for (let round = 0; round < 20; round += 1) {
      const hostport = `${fresh()}:443`;
      const older = await edgeAt([hostport], theirs);
      await reserveAddr(hostport);
      const coming = ours.client.post('/edges/tcp', { hostports: [hostport] });
      const leaving = theirs.client.delete(`/edges/tcp/${older}`);
      expect([(await coming).status, (await leaving).status]).toEqual([201, 204]);
      const { rows } = await service.pool.query('select account_id, exclusive from claims where value = $1', [
        `hostport:${hostport}`,
      ]);
      expect(rows).toEqual([{ account_id: ours.accountId, exclusive: true }]);
    }
  });

  it('wins each race for it: another account may list it at the same moment, and takes it from nobody', async () => {
    const racers = Array.from({ length: 4 }, (_, n) => {
      return new ApiClient([service, hasty][n % 2]?.app.url ?? '', theirs.client.token);
    });
    for (let round = 0; round < 20; round += 1) {
      const hostport = `${fresh()}:443`;
      await reserveAddr(hostport);
      const body = { hostports: [hostport] };
      const others = racers.map((client) => client.post('/edges/tcp', body));
      expect(await ours.client.post('/edges/tcp', body)).toMatchObject({ status: 201 });
      for (const { status } of await Promise.all(others)) expect([201, 409]).toContain(status);
    }
    expect((await provenOf(service.app.database, {})).proof.differences).toBe(0);
  });

  it('gets it in strict mode too, for one edge of its own', async () => {
    const strict = await startCopy(service, { strict: true });
    const [own, other] = [ours, theirs].map(({ client }) => new ApiClient(strict.app.url, client.token));
    try {
      const hostport = `${fresh()}:443`;
      const body = { hostports: [hostport], backend };
      expect((await other?.post('/edges/tcp', body))?.status).toBe(201);
      expect(await own?.post('/edges/tcp', body)).toMatchObject(TAKEN);
      await reserveAddr(hostport);
      const edge = await own?.post('/edges/tcp', body);
      expect(edge?.status).toBe(201);
      expect(await own?.post('/edges/tcp', body)).toMatchObject(TAKEN);
      expect(await servedAt(hostport)).toBe(edge?.body.id);
    } finally {
      await strict.stop();
    }
  });
});

describe('GET /ssh_gateway/edges/changes', () => {
  const open = async (token: string, at = service) => {
    const stream = await EventStream.open(`${at.app.url}/ssh_gateway/edges/changes`, token);
    await stream.until(1);
    return stream;
  };

  const told = (by: TestPrincipal, hostports: readonly string[]) => ({ account_id: by.accountId, ids: [], hostports });

  /** Makes an edge of which the stream has told, so that what it tells next is about something else. */
  async function toldEdgeAt(stream: EventStream, hostports: readonly string[], by: TestPrincipal): Promise<void> {
    const id = await edgeAt(hostports, by);
    await eventually(() => expect(stream.messages.flatMap(({ data }) => data.ids ?? [])).toContain(id));
  }

  /** What a stream tells of next within a second, one message for each account. */
  async function toldBy(stream: EventStream, act: () => Promise<unknown>, accounts: number) {
    stream.messages.length = 0;
    await act();
    for (const end = Date.now() + 1_000; stream.messages.length < accounts && Date.now() < end; ) await sleep(5);
    return stream.messages
      .map(({ data }) => ({ ...data, hostports: data.hostports.toSorted() }))
      .sort((a) => (a.account_id === ours.accountId ? -1 : 1));
  }

  it('tells all accounts whose edges list what is reserved or no longer, and of no change of a text', async () => {
    const name = fresh();
    const [a, b] = [`a.${name}:1`, `b.${name}:2`];
    const [parent, similar] = [`${name}:1`, `a-${name}:1`];
    await reserveDomain(`*.${name}`);
    const stream = await open(ALL);
    await toldEdgeAt(stream, [a, b, parent, similar], ours);
    let id = '';
    const make = async () => {
      id = await reserveAddr(a);
    };
    expect(await toldBy(stream, make, 1)).toEqual([told(ours, [a])]);
    const path = `/reserved_addrs/${id}`;
    expect(await toldBy(stream, () => ours.client.patch(path, { description: 'x' }), 1)).toEqual([]);
    expect(await toldBy(stream, () => ours.client.delete(path), 1)).toEqual([told(ours, [a])]);
    const host = `c.${fresh()}`;
    const [shared, under] = [`${host}:3`, `x.${host}:3`];
    await toldEdgeAt(stream, [shared, under], theirs);
    let domain = '';
    const take = async () => {
      domain = await reserveDomain(host);
    };
    expect(await toldBy(stream, take, 1)).toEqual([told(theirs, [shared])]);
    await toldEdgeAt(stream, [shared], ours);
    const gone = () => ours.client.delete(`/reserved_domains/${domain}`);
    expect(await toldBy(stream, gone, 2)).toEqual([told(ours, [shared]), told(theirs, [shared])]);
    expect(await toldBy(stream, () => reserveDomain(`*.${host}`), 1)).toEqual([told(theirs, [under])]);
    stream.close();
  });

  it('tells a gateway for one account of that account alone', async () => {
    const [hostport, foreign] = [`${fresh()}:1`, `${fresh()}:1`];
    const stream = await open(THEIRS);
    await edgeAt([foreign], ours);
    await toldEdgeAt(stream, [hostport], theirs);
    const reserve = async () => {
      await reserveAddr(foreign);
      await reserveAddr(hostport);
    };
    expect(await toldBy(stream, reserve, 1)).toEqual([told(theirs, [hostport])]);
    stream.close();
  });

  it('tells of a hostport again when its deleted reservation has rested', async () => {
    const hostport = `${fresh()}:1`;
    const edge = await edgeAt([hostport], theirs);
    const stream = await open(ALL, hasty);
    const heard = () => stream.messages.filter(({ data }) => data.hostports?.includes(hostport));
    const at = new ApiClient(hasty.app.url, ALL);
    const id = await reserveAddr(hostport);
    await eventually(() => expect(heard().at(-1)?.data).toEqual(told(theirs, [hostport])));
    stream.messages.length = 0;
    await atHasty(ours).delete(`/reserved_addrs/${id}`);
    const deletedAt = Date.now();
    await eventually(() => expect(heard()).toHaveLength(1));
    expect(await servedAt(hostport, at)).toBeNull();
    await eventually(() => expect(heard()).toHaveLength(2));
    expect(Date.now() - deletedAt).toBeLessThan(REST_MS + 1_000);
    expect(heard().map(({ data }) => data)).toEqual([told(theirs, [hostport]), told(theirs, [hostport])]);
    expect(await servedAt(hostport, at)).toBe(edge);
    stream.close();
  });
});
