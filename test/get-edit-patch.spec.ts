import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { newPublicKey } from './support/keys.js';
import { refusalsOf } from './support/refusals.js';
import { type Service, startService } from './support/service.js';

/** A caller may send back what GET shows: the references of an edge's modules, and the read-only fields. */

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const { eventCount, expectRefusal } = refusalsOf(() => service);

const MODULES = ['backend', 'ip_restriction', 'traffic_policy'] as const;

const create = async (path: string, body: object) => {
  const answer = await service.admin.post(path, body);
  expect(answer.status).toBe(201);
  return answer.body;
};

/** What GET shows, in the form of a body that creates it. */
const bodyOf = async (uri: string) => (await service.admin.get(new URL(uri).pathname)).body;

const without = ({ id: _, uri: __, created_at: ___, ...rest }: Record<string, unknown>) => rest;

const enabled = fc.boolean();
const id = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/),
  fc.constantFrom('bkdtg_1', 'bkdhr_1', 'ipp_1', '_', '-'),
);
const edge = fc.record(
  {
    description: fc.string({ unit: 'grapheme', maxLength: 20 }),
    metadata: fc.string({ unit: 'grapheme', maxLength: 20 }),
    hostports: fc.array(fc.constantFrom('a:1', 'A.:1', '[0::1]:3', 'bücher.example:4'), { maxLength: 4 }),
    backend: fc.record({ enabled, backend_id: id }),
    ip_restriction: fc.record({ enabled, ip_policy_ids: fc.array(id, { maxLength: 4 }) }),
    traffic_policy: fc.record({ enabled, value: fc.string({ unit: 'grapheme' }) }),
  },
  { requiredKeys: [] },
);
const credential = fc.record(
  {
    description: fc.string({ unit: 'grapheme', maxLength: 20 }),
    metadata: fc.string({ unit: 'grapheme', maxLength: 20 }),
    acl: fc.array(fc.constantFrom('*', 'bind:*.Example.com', 'bind:a=b'), { maxLength: 3 }),
    owner_id: fc.constantFrom('', 'bot_elsewhere'),
    public_key: fc.constant(newPublicKey()),
    expires_at: fc.constant('2099-12-31T23:59:59.999Z'),
    source_cidrs: fc.constantFrom(['192.0.2.0/24'], ['2001:db8::/32', '192.0.2.7/32']),
  },
  { requiredKeys: ['public_key'] },
);

const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const policy = fc.record({ description: text, metadata: text }, { requiredKeys: [] });
const label = fc.stringMatching(/^[A-Za-z0-9_.-]{1,9}$/);
const group = fc.record(
  { description: text, metadata: text, labels: fc.dictionary(label, label) },
  { requiredKeys: [] },
);

const RUNS = { numRuns: 20 };

describe('any edge', () => {
  it('is unchanged by a PUT with the body of the GET of each module', async () => {
    const property = fc.asyncProperty(edge, async (body) => {
      const { uri } = await create('/edges/tcp', body);
      const path = new URL(uri).pathname;
      const shown = await bodyOf(uri);
      const before = await eventCount();
      for (const name of MODULES.filter((module) => shown[module] !== null)) {
        const module = (await service.admin.get(`${path}/${name}`)).body;
        expect(module).toEqual(shown[name]);
        for (const sent of [module, { id: shown.id, module }]) {
          expect(await service.admin.put(`${path}/${name}`, sent)).toMatchObject({ status: 200, body: module });
        }
      }
      expect(await eventCount()).toBe(before);
    });
    await fc.assert(property, RUNS);
  });

  it('takes its references from the public API and through another name of the service', async () => {
    const { uri } = await create('/edges/tcp', { ip_restriction: { ip_policy_ids: ['p', 'q', 'p'] } });
    const shown = await bodyOf(uri);
    const before = await eventCount();
    const renamed = JSON.parse(JSON.stringify(shown).replaceAll(service.app.url, 'https://api.example.com/base'));
    expect(await service.admin.patch(new URL(uri).pathname, renamed)).toMatchObject({ status: 200, body: shown });
    expect(await eventCount()).toBe(before);
  });
});

describe('an edge in edited form', () => {
  it('is changed as both forms say: GET, edit, PATCH', async () => {
    const created = await create('/edges/tcp', {
      backend: { backend_id: 'bkdhr_1' },
      ip_restriction: { ip_policy_ids: ['a', 'b'] },
    });
    const path = new URL(created.uri).pathname;
    const shown = await bodyOf(created.uri);
    shown.backend.enabled = false;
    shown.ip_restriction.ip_policies = [shown.ip_restriction.ip_policies[1], { id: 'c' }, { id: 'd', uri: null }];
    const { body } = await service.admin.patch(path, shown);
    const policies = ['b', 'c', 'd'].map((one) => ({ id: one, uri: `${service.app.url}/ip_policies/${one}` }));
    expect(body).toEqual({ ...shown, ip_restriction: { enabled: true, ip_policies: policies } });
    const both = { backend_id: 'bkdtg_2', backend: { id: 'bkdtg_2' } };
    expect((await service.admin.put(`${path}/backend`, both)).body.backend.id).toBe('bkdtg_2');
    const lists = { ip_policy_ids: ['x', 'y'], ip_policies: [{ id: 'x' }, { id: 'y' }] };
    expect((await service.admin.put(`${path}/ip_restriction`, lists)).body.ip_policies).toMatchObject(
      lists.ip_policies,
    );
  });

  it.each<[what: string, body: object, code: string, msg: RegExp]>([
    [
      'two backends',
      { backend: { backend_id: 'a', backend: { id: 'b' } } },
      'ERR_TAS_400',
      /^backend\.backend_id and backend\.backend name different ids; send one of the two\.$/,
    ],
    [
      'two lists of policies',
      { ip_restriction: { ip_policy_ids: ['a', 'b'], ip_policies: [{ id: 'b' }, { id: 'a' }] } },
      'ERR_TAS_400',
      /^ip_restriction\.ip_policy_ids and ip_restriction\.ip_policies name different ids/,
    ],
    [
      'the URI of another backend',
      { backend: { backend: { id: 'bkdhr_1', uri: 'https://h/backends/http_response/bkdhr_2' } } },
      'ERR_TAS_400',
      /^backend\.backend\.uri is not the URI of 'bkdhr_1': omit it, or send the one that GET shows\.$/,
    ],
    [
      'the URI of another policy',
      { ip_restriction: { ip_policies: [{ id: 'a' }, { id: 'b', uri: 'https://h/ip_policies/a' }] } },
      'ERR_TAS_400',
      /^ip_restriction\.ip_policies\[1\]\.uri is not the URI of 'b'/,
    ],
    ['a URI that is no text', { ip_restriction: { ip_policies: [{ id: 'a', uri: 1 }] } }, 'ERR_TAS_400', /uri is not/],
    ['a backend without id', { backend: { backend: {} } }, 'ERR_NGROK_242', /^backend\.backend\.id must be a string/],
    ['a backend with an id of blanks', { backend: { backend: { id: 'a b' } } }, 'ERR_NGROK_242', /'a b' must be/],
    ['a backend that is no object', { backend: { backend: 'b' } }, 'ERR_NGROK_215', /^backend\.backend must be an/],
    ['an unknown field', { backend: { backend: { id: 'b', x: 1 } } }, 'ERR_NGROK_214', /'backend\.backend\.x' is not/],
    ['a policy without id', { ip_restriction: { ip_policies: [{}] } }, 'ERR_NGROK_229', /policies\[0\]\.id must be/],
    [
      'an unknown field of a policy',
      { ip_restriction: { ip_policies: [{ id: 'a', enabled: true }] } },
      'ERR_NGROK_214',
      /^ip_restriction\.ip_policies\[0\] takes only id and uri/,
    ],
  ])('answers 400 to %s', async (_, body, code, msg) => {
    await expectRefusal(() => service.admin.post('/edges/tcp', body), 400, code, msg);
  });
});

it.each([
  ['edge', '/edges/tcp', edge],
  ['SSH credential', '/ssh_credentials', credential],
  ['IP policy', '/ip_policies', policy],
  ['tunnel group', '/backends/tunnel_group', group],
])('any %s is unchanged by a PATCH with the body of its GET, and copied by a POST', async (_, path, bodies) => {
  const property = fc.asyncProperty<[object]>(bodies, async (body) => {
    const shown = await bodyOf((await create(path, body)).uri);
    const before = await eventCount();
    expect(await service.admin.patch(`${path}/${shown.id}`, shown)).toMatchObject({ status: 200, body: shown });
    expect(await eventCount()).toBe(before);
    const copy = await create(path, shown);
    expect(without(copy)).toEqual(without(shown));
    expect(copy.id > shown.id).toBe(true);
  });
  await fc.assert(property, RUNS);
});

describe('a rule of an IP policy', () => {
  const newRule = async () => {
    const { id: ip_policy_id } = await create('/ip_policies', {});
    return create('/ip_policy_rules', { ip_policy_id, cidr: '192.0.2.0/24', action: 'deny', description: 'd' });
  };

  it('is unchanged by a PATCH with the body of its GET, and copied to another network or policy by a POST', async () => {
    const shown = await bodyOf((await newRule()).uri);
    const before = await eventCount();
    const path = `/ip_policy_rules/${shown.id}`;
    expect(await service.admin.patch(path, shown)).toMatchObject({ status: 200, body: shown });
    expect(await eventCount()).toBe(before);
    const { id, uri } = await create('/ip_policies', {});
    for (const edit of [
      { cidr: '198.51.100.0/24' },
      { ip_policy: { id } },
      { ip_policy: { id, uri }, cidr: '192.0.2.6/32' },
      { ip_policy: { id, uri: `https://api.example.com/ip_policies/${id}` }, cidr: '192.0.2.7/32' },
      { ip_policy_id: id, ip_policy: null, cidr: '192.0.2.8/32' },
      { ip_policy_id: id, ip_policy: { id }, cidr: '192.0.2.9/32' },
    ]) {
      const copy = await create('/ip_policy_rules', { ...shown, ...edit });
      const policyId = 'cidr' in edit && !('ip_policy' in edit) ? shown.ip_policy.id : id;
      expect(without(copy)).toMatchObject({
        ...without(shown),
        cidr: edit.cidr ?? shown.cidr,
        ip_policy: { id: policyId },
      });
    }
    await expectRefusal(() => service.admin.post('/ip_policy_rules', shown), 409, 'ERR_NGROK_1408');
  });

  it('is refused if its references name two policies', async () => {
    const { ip_policy } = await newRule();
    const { id, uri } = await create('/ip_policies', {});
    const post = (references: object) => () =>
      service.admin.post('/ip_policy_rules', { cidr: '192.0.2.7', action: 'allow', ...references });
    const both = post({ ip_policy_id: id, ip_policy });
    await expectRefusal(
      both,
      400,
      'ERR_TAS_400',
      /^ip_policy_id and ip_policy name different ids; send one of the two\.$/,
    );
    const foreign = post({ ip_policy: { ...ip_policy, uri } });
    await expectRefusal(foreign, 400, 'ERR_TAS_400', /^ip_policy\.uri is not the URI of 'ipp_/);
    const unknown = post({ ip_policy: { ...ip_policy, x: 1 } });
    await expectRefusal(unknown, 400, 'ERR_NGROK_214', /'ip_policy\.x' is not/);
  });
});
