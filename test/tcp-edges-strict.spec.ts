import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createApp } from '../src/api/app.js';
import { EdgesByHostport, tcpEdgesReadModel } from '../src/api/tcp-edges/tcp-edges.read-model.js';
import { ApiClient } from './support/api-client.js';
import { addAccount, type TestPrincipal } from './support/principals.js';
import { refusalsOf } from './support/refusals.js';
import { expectRowsToBeTheFoldOfTheLog } from './support/replay.js';
import { type Service, startService, testConfig } from './support/service.js';

let service: Service;
let admin: ApiClient;
let other: TestPrincipal;
let used = 0;

beforeAll(async () => {
  service = await startService({ strict: true });
  admin = service.admin;
  other = await addAccount(service);
});
afterAll(() => service.stop());

const { expectRefusal } = refusalsOf(() => service);

/** A hostport that no other test uses. */
const fresh = (): string => {
  used += 1;
  return `h${used}.example.com:443`;
};

const create = async (hostports: string[], client: ApiClient = admin) => {
  const answer = await client.post('/edges/tcp', { hostports });
  expect(answer).toMatchObject({ status: 201 });
  return `/edges/tcp/${answer.body.id}`;
};

const statuses = (answers: { status: number }[]): number[] => answers.map((a) => a.status).sort();

describe('in strict mode a hostport belongs to one edge of the deployment', () => {
  it('another edge that lists it in any spelling is refused with its name, and is not stored', async () => {
    const [hostport, free] = [fresh(), fresh()];
    await create([hostport]);
    const spelling = hostport.toUpperCase().replace(':', '.:');
    const msg = new RegExp(`^hostports\\[1\\] '${spelling}' is already used by another edge\\.$`);
    const post = () => admin.post('/edges/tcp', { hostports: [free, spelling] });
    await expectRefusal(post, 409, 'ERR_NGROK_7122', msg);
    await create([free]);
  });

  it('an edge of another account is refused in the same words, which do not reveal the account', async () => {
    const hostport = fresh();
    await create([hostport], other.client);
    const msg = new RegExp(`^hostports\\[0\\] '${hostport}' is already used by another edge\\.$`);
    await expectRefusal(() => admin.post('/edges/tcp', { hostports: [hostport] }), 409, 'ERR_NGROK_7122', msg);
  });

  it('one edge may list it twice', async () => {
    const hostport = fresh();
    const path = await create([hostport, hostport.toUpperCase(), hostport]);
    expect((await admin.get(path)).body.hostports).toEqual([hostport, hostport.toUpperCase(), hostport]);
  });

  it('PATCH claims and frees hostports, a deletion frees them, and PATCH keeps claimed ones in any spelling and order', async () => {
    const [a, b, c] = [fresh(), fresh(), fresh()];
    const path = await create([a, b]);
    expect((await admin.patch(path, { hostports: [b.toUpperCase(), c] })).status).toBe(200);
    expect((await admin.patch(path, { hostports: [c, b, c] })).status).toBe(200);
    expect((await admin.patch(path, { description: 'x' })).status).toBe(200);
    const elsewhere = await create([a], other.client);
    await expectRefusal(() => admin.patch(path, { hostports: [a, b] }), 409, 'ERR_NGROK_7122', /^hostports\[0\]/);
    expect((await admin.get(path)).body.hostports).toEqual([c, b, c]);
    await other.client.delete(elsewhere);
    expect((await admin.patch(path, { hostports: [a, b] })).status).toBe(200);
  });

  it('PATCH of an unknown edge answers 404, not which hostports are taken', async () => {
    const hostport = fresh();
    await create([hostport]);
    const patch = () => admin.patch('/edges/tcp/edgtcp_3MPflUxi65UVJUZK1y0iEJKUOhV', { hostports: [hostport] });
    await expectRefusal(patch, 404, 'ERR_NGROK_7000');
  });
});

describe('in strict mode races are decided by the index', () => {
  /** Lets `use` call two more instances of the service on the same database. */
  async function withTwoInstances(use: (...urls: string[]) => Promise<void>): Promise<void> {
    const instances = [];
    try {
      for (const _ of [1, 2]) instances.push(await createApp(testConfig(service.databaseUrl, { strict: true })));
      await use(...instances.map(({ url }) => url));
    } finally {
      await Promise.all(instances.map((instance) => instance.close()));
    }
  }

  it('32 clients of two accounts on two instances create an edge for one hostport: one edge is created', () =>
    withTwoInstances(async (...urls) => {
      const tokens = [admin, other.client].map(({ token }) => token);
      const callers = urls.flatMap((url) => tokens.map((token) => new ApiClient(url, token)));
      const clients = Array.from({ length: 8 }, () => callers).flat();
      // Opens the connections before the race; otherwise the first connection would win it.
      await Promise.all(clients.map((client) => client.get('/edges/tcp')));
      for (let round = 0; round < 3; round += 1) {
        const hostport = fresh();
        await raceFor(hostport, clients);
        expect((await new EdgesByHostport(service.pool).at(hostport)).ids).toHaveLength(1);
      }
    }));

  async function raceFor(hostport: string, clients: readonly ApiClient[]): Promise<void> {
    const bodies = clients.map(() => ({ hostports: [fresh(), hostport] }));
    const answers = await Promise.all(clients.map((client, n) => client.post('/edges/tcp', bodies[n])));
    expect(statuses(answers)).toEqual([201, ...Array(clients.length - 1).fill(409)]);
    const refusals = answers.filter((a) => a.status === 409).map((a) => `${a.body.error_code} ${a.body.msg}`);
    const expected = `ERR_NGROK_7122 hostports[1] '${hostport}' is already used by another edge.`;
    expect(new Set(refusals)).toEqual(new Set([expected]));
  }

  it('two accounts that claim the same hostports in opposite order never deadlock', async () => {
    await withTwoInstances(async (one = '', another = '') => {
      const [first, second] = [new ApiClient(one, admin.token), new ApiClient(another, other.client.token)];
      for (let round = 0; round < 8; round += 1) {
        const wanted = Array.from({ length: 16 }, fresh);
        const takeBy = (client: ApiClient) => (hostport: string) =>
          client.post('/edges/tcp', { hostports: [hostport] });
        const takes = [...wanted.map(takeBy(first)), ...wanted.toReversed().map(takeBy(second))];
        expect(statuses(await Promise.all(takes))).toEqual([...Array(16).fill(201), ...Array(16).fill(409)]);
      }
    });
    // The instances are closed: a backend reports its counts when it ends.
    const { rows } = await service.pool.query(
      'select deadlocks::int from pg_stat_database where datname = current_database()',
    );
    expect(rows).toEqual([{ deadlocks: 0 }]);
  });
});

describe('if strict mode is switched on later', () => {
  it('edges that already share a hostport can be edited, and other edges cannot claim it', async () => {
    const lenient = await startService();
    const app = await createApp(testConfig(lenient.databaseUrl, { strict: true }));
    try {
      const strict = new ApiClient(app.url, lenient.admin.token);
      const [first, second] = [
        (await lenient.admin.post('/edges/tcp', { hostports: ['shared:1'] })).body,
        (await lenient.admin.post('/edges/tcp', { hostports: ['shared:1'] })).body,
      ];
      for (const [n, { id }] of [first, second].entries()) {
        const body = { description: 'x', hostports: ['SHARED:1', `own${n}:1`] };
        expect((await strict.patch(`/edges/tcp/${id}`, body)).status).toBe(200);
      }
      const taken = { status: 409, body: { error_code: 'ERR_NGROK_7122' } };
      expect(await strict.post('/edges/tcp', { hostports: ['shared:1'] })).toMatchObject(taken);
      expect(await strict.patch(`/edges/tcp/${first.id}`, { hostports: ['own1:1'] })).toMatchObject(taken);
      await expectRowsToBeTheFoldOfTheLog(lenient.pool, tcpEdgesReadModel);
    } finally {
      await app.close();
      await lenient.stop();
    }
  });
});

it('after all these races the rows are the fold of the log', () =>
  expectRowsToBeTheFoldOfTheLog(service.pool, tcpEdgesReadModel));
