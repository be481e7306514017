import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { tcpEdgesReadModel } from '../src/tcp-edges/tcp-edges.read-model.js';
import type { Answer, ApiClient } from './support/api-client.js';
import { addAccount } from './support/principals.js';
import { refusalsOf } from './support/refusals.js';
import { expectRowsToBeTheFoldOfTheLog } from './support/replay.js';
import { type Service, startService } from './support/service.js';

let service: Service;
const { eventCount } = refusalsOf(() => service);

const id = fc.stringMatching(/^[A-Za-z0-9_-]{1,8}$/);
const enabled = fc.boolean();
const modules = {
  backend: fc.record({ enabled, backend_id: id }, { requiredKeys: ['backend_id'] }),
  ip_restriction: fc.record({ enabled, ip_policy_ids: fc.array(id, { maxLength: 3 }) }, { requiredKeys: [] }),
  traffic_policy: fc.record({ enabled, value: fc.string({ unit: 'grapheme' }) }, { requiredKeys: ['value'] }),
};
/** Few hostports in several spellings, so that edges share them. */
const hostport = fc.constantFrom('a:1', 'A.:1', 'b:2', '[::1]:3', '[0::1]:3', 'bücher.example:4', 'c:5');
const valid = {
  description: fc.string({ unit: 'grapheme', maxLength: 20 }),
  metadata: fc.string({ maxLength: 20 }),
  hostports: fc.array(hostport, { maxLength: 4 }),
  ...modules,
};

/** Any JSON, with difficult cases: names such as __proto__, U+0000, halves of surrogate pairs. */
const anything = fc.oneof(
  fc.jsonValue({ stringUnit: 'binary' }),
  fc.constantFrom(null, '\0', '\ud800', '__proto__', 'a:1', -0, {}),
);
const near = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 12, arbitrary: value }, { weight: 1, arbitrary: anything });
const nearRecord = (fields: Record<string, fc.Arbitrary<unknown>>) =>
  fc
    .record(Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, near(value)])), {
      requiredKeys: [],
    })
    .chain((body) => fc.oneof({ weight: 9, arbitrary: fc.constant(body) }, { weight: 1, arbitrary: withMore(body) }));
const withMore = (body: object) =>
  fc.dictionary(fc.string(), anything, { minKeys: 1, maxKeys: 2 }).map((more) => ({ ...body, ...more }));
const nearModules = {
  backend: nearRecord({ enabled, backend_id: id }),
  ip_restriction: nearRecord({ enabled, ip_policy_ids: fc.array(near(id), { maxLength: 3 }) }),
  traffic_policy: nearRecord({ enabled, value: fc.string() }),
};
const nearBody = near(nearRecord({ ...valid, hostports: fc.array(near(hostport), { maxLength: 4 }), ...nearModules }));

describe('for any body', () => {
  let path: string;
  beforeAll(async () => {
    service = await startService();
    path = `/edges/tcp/${(await service.admin.post('/edges/tcp', {})).body.id}`;
  });

  afterAll(() => service.stop());

  /** An accepted body is what GET shows; a refused body has a reason and stores no event. */
  async function expectAcceptedOrRefused(
    call: () => Promise<Answer>,
    where: (accepted: Answer) => string,
  ): Promise<void> {
    const before = await eventCount();
    const answer = await call();
    if (answer.status < 300) {
      expect(await service.admin.get(where(answer))).toMatchObject({ status: 200, body: answer.body });
      return;
    }
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ error_code: expect.stringMatching(/^ERR_/), msg: expect.stringMatching(/./) });
    expect(await eventCount()).toBe(before);
  }

  it('POST accepts it or answers 400 with a reason', async () => {
    const property = fc.asyncProperty(nearBody, async (body) => {
      const post = () => service.admin.post('/edges/tcp', body);
      await expectAcceptedOrRefused(post, (taken) => `/edges/tcp/${taken.body.id}`);
    });
    await fc.assert(property, { numRuns: 400 });
  });

  it('PATCH accepts it or answers 400 with a reason', async () => {
    const property = fc.asyncProperty(nearBody, (body) =>
      expectAcceptedOrRefused(
        () => service.admin.patch(path, body),
        () => path,
      ),
    );
    await fc.assert(property, { numRuns: 300 });
  });

  it('PUT of a module accepts it or answers 400 with a reason', async () => {
    const puts = fc.oneof(
      ...Object.entries(nearModules).map(([name, bare]) =>
        fc.tuple(fc.constant(name), fc.oneof(bare, nearRecord({ module: bare, id: fc.string() }))),
      ),
    );
    const property = fc.asyncProperty(puts, ([name, body]) =>
      expectAcceptedOrRefused(
        () => service.admin.put(`${path}/${name}`, body),
        () => `${path}/${name}`,
      ),
    );
    await fc.assert(property, { numRuns: 300 });
  });

  it('the rows are the fold of the log', () => expectRowsToBeTheFoldOfTheLog(service.pool, tcpEdgesReadModel));
});

let clients: readonly ApiClient[];

type Command = (paths: string[]) => Promise<void>;

/** Acts on one of the edges created so far, as its own account. */
const onEdge = (act: (client: ApiClient, path: string) => Promise<Answer>) =>
  fc.tuple(fc.nat(), fc.nat(1)).map(
    ([n, who]): Command =>
      async (paths) => {
        const [path, client] = [paths[n % paths.length], clients[who]];
        if (path === undefined || client === undefined) return;
        expect((await act(client, path)).status).toBeLessThan(500);
      },
  );

const moduleName = fc.constantFrom('backend', 'ip_restriction', 'traffic_policy');
const body = fc.record(valid, { requiredKeys: [] });
const command = fc.oneof(
  fc.tuple(body, fc.nat(1)).map(
    ([edge, who]): Command =>
      async (paths) => {
        const answer = await clients[who]?.post('/edges/tcp', edge);
        if (answer?.status === 201) paths.push(`/edges/tcp/${answer.body.id}`);
      },
  ),
  body.chain((changes) => onEdge((client, path) => client.patch(path, changes))),
  fc
    .record(modules)
    .chain((all) =>
      moduleName.chain((name) =>
        onEdge((client, path) => client.put(`${path}/${name}`, all[name as keyof typeof all])),
      ),
    ),
  moduleName.chain((name) => onEdge((client, path) => client.delete(`${path}/${name}`))),
  onEdge((client, path) => client.delete(path)),
);

describe('after any commands, even concurrent ones of several accounts', () => {
  beforeAll(async () => {
    service = await startService({ strict: true });
    clients = [service.admin, (await addAccount(service)).client];
  });
  afterAll(() => service.stop());

  it('the rows are the fold of the log, and no exclusive hostport belongs to two edges', async () => {
    const history = fc.array(fc.array(command, { minLength: 1, maxLength: 6 }), { minLength: 3, maxLength: 12 });
    const property = fc.asyncProperty(history, async (steps) => {
      const paths: string[] = [];
      for (const step of steps) await Promise.all(step.map((act) => act(paths)));
      await expectRowsToBeTheFoldOfTheLog(service.pool, tcpEdgesReadModel);
    });
    await fc.assert(property, { numRuns: 40 });
    const { rows } = await service.pool.query(
      'select hostport from tcp_edge_hostports where exclusive group by 1 having count(*) > 1',
    );
    expect(rows).toEqual([]);
    const { rows: made } = await service.pool.query(
      'select type, count(*)::int as n from events group by 1 order by 1',
    );
    expect(made.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['tcp_edge_created.v1', 'tcp_edge_deleted.v1', 'tcp_edge_updated.v1']),
    );
  });
});
