import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient } from './support/api-client.js';
import { EventStream } from './support/event-stream.js';
import { eventually } from './support/eventually.js';
import { addAccount, type TestPrincipal } from './support/principals.js';
import { type Service, startCopy, startService } from './support/service.js';

const ALL = 'token-of-a-gateway-for-all';
const ONE = 'token-of-a-gateway-for-one';

let service: Service;
/** The gateways' instance, which starts after the account of a token was made. */
let copy: Service;
let ours: TestPrincipal;
let theirs: TestPrincipal;
let gateways: { readonly all: ApiClient; readonly one: ApiClient };
beforeAll(async () => {
  service = await startService();
  [ours, theirs] = [await addAccount(service), await addAccount(service)];
  const gatewayTokens = [{ token: ALL }, { name: 'one', accountId: ours.accountId, token: ONE }];
  copy = await startCopy(service, { gatewayTokens });
  gateways = { all: new ApiClient(copy.app.url, ALL), one: new ApiClient(copy.app.url, ONE) };
});
afterAll(async () => {
  await copy.stop();
  await service.stop();
});
const create = async (path: string, body: object, { client } = ours): Promise<string> =>
  (await client.create(path, body)).id;
const edgeAt = (hostports: readonly string[], more: object = {}, by = ours) =>
  create('/edges/tcp', { hostports, backend: { backend_id: 'bkdtg_1' }, ...more }, by);

/** Written past the API, which would take a request for each rule. */
async function policyWithRules(count: number): Promise<string> {
  const policy = await create('/ip_policies', {});
  await service.pool.query(
    `insert into ip_policy_rules (account_id, id, version, created_at, description, metadata, ip_policy_id, cidr, action)
     select account_id, 'ipr_' || left(md5(id || n), 27), 1, created_at, '', '', id,
       '10.' || n / 65536 || '.' || n / 256 % 256 || '.' || n % 256 || '/32', 'deny'
     from ip_policies, generate_series(1, $2) n where id = $1`,
    [policy, count],
  );
  return policy;
}

describe('the expiry of an edge', () => {
  const servedAt = async (hostport: string) =>
    (await gateways.all.get(`/ssh_gateway/edges?${new URLSearchParams({ hostport })}`)).body.edge?.edge.id ?? null;
  const soon = (ms: number) => new Date(Date.now() + ms).toISOString();

  it('is shown where it is set, taken by POST and PATCH, and ended by DELETE; null changes nothing', async () => {
    const [first, second] = [soon(3_600_000), soon(7_200_000)];
    const id = await edgeAt(['expiry.example:1'], { expires_at: first });
    const path = `/edges/tcp/${id}`;
    const shown = async () => (await ours.client.get(path)).body.expires_at;
    expect(await shown()).toBe(first);
    expect((await ours.client.patch(path, { expires_at: second })).body.expires_at).toBe(second);
    expect((await ours.client.patch(path, { expires_at: null })).body.expires_at).toBe(second);
    expect((await ours.client.delete(`${path}/expiry`)).status).toBe(204);
    expect((await ours.client.get(path)).body).not.toHaveProperty('expires_at');
    const changes = (await ours.client.get(`${path}/events`)).body.events.flatMap((event: { changes: object[] }) =>
      event.changes.filter((change) => 'field' in change && change.field === 'expires_at'),
    );
    expect(changes.map(({ to }: { to: unknown }) => to ?? null)).toEqual([first, second, null]);
    const past = await ours.client.patch(path, { expires_at: '2020-01-01T00:00:00Z' });
    expect(past).toMatchObject({ status: 400, body: { msg: expect.stringContaining('is in the past') } });
  });

  it('closes it by the clock of the database: the next edge is served, gateways are told, and the row stays', async () => {
    const hostport = 'expiring.example:1';
    const stream = await EventStream.open(`${copy.app.url}/ssh_gateway/edges/changes`, ALL);
    const id = await edgeAt([hostport], { expires_at: soon(1_500) });
    const next = await edgeAt([hostport]);
    expect(await servedAt(hostport)).toBe(id);
    await eventually(async () => expect(await servedAt(hostport)).toBe(next), 5_000);
    const told = () => JSON.stringify(stream.messages).split(id).length - 1;
    await eventually(() => expect(told()).toBe(2), 5_000);
    expect((await ours.client.get(`/edges/tcp/${id}`)).status).toBe(200);
    const { body } = await ours.client.post(`/edges/tcp/${id}/check`, { source: '192.0.2.7' });
    expect(body.not_served).toEqual([{ hostport, reason: 'edge_expired' }]);
    await ours.client.delete(`/edges/tcp/${id}/expiry`);
    expect(await servedAt(hostport)).toBe(id);
    stream.close();
  });
});

describe('GET /ssh_gateway/edges/ports', () => {
  const portsOf = async (host: string, gateway = gateways.all) =>
    (await gateway.get(`/ssh_gateway/edges/ports?${new URLSearchParams({ host })}`)).body;

  it('lists each port of the host once, in order, of the account that the gateway serves', async () => {
    await edgeAt(['ports.example:9000', 'PORTS.example.:22', 'ports.example:10000']);
    await edgeAt(['ports.example:22']);
    await edgeAt(['ports.example:443'], {}, theirs);
    await edgeAt(['a.ports.example:1', 'ports.exampl:2', 'ports.example.org:3', 'ports-example:4'], {}, theirs);
    expect(await portsOf('Ports.Example')).toEqual({ host: 'ports.example', ports: [22, 443, 9000, 10000] });
    expect((await portsOf('ports.example', gateways.one)).ports).toEqual([22, 9000, 10000]);
    expect((await portsOf('none.example')).ports).toEqual([]);
  });

  it('lists those of an IPv6 address', async () => {
    await edgeAt(['[2001:DB8::7]:5432']);
    expect(await portsOf('[2001:db8:0::7]')).toEqual({ host: '[2001:db8::7]', ports: [5432] });
  });

  it.each(['', '?host=', '?host=a..b', `?host=${'a'.repeat(600)}`, '?host=a:1'])('refuses %p', async (query) => {
    expect(await gateways.all.get(`/ssh_gateway/edges/ports${query}`)).toMatchObject({ status: 400 });
  });
});

describe('GET /ssh_gateway/edges/changes', () => {
  const open = async (token: string) => {
    const stream = await EventStream.open(`${copy.app.url}/ssh_gateway/edges/changes`, token);
    await stream.until(1);
    expect(stream.messages).toMatchObject([{ event: 'ready' }]);
    return stream;
  };
  let streams: { readonly all: EventStream; readonly one: EventStream };
  beforeAll(async () => {
    streams = { all: await open(ALL), one: await open(ONE) };
  });

  /** What a stream tells of the next change alone. */
  async function toldBy(act: () => Promise<unknown>, stream = streams.all) {
    stream.messages.length = 0;
    await act();
    await stream.until(1);
    return stream.messages[0]?.data;
  }

  it('tells of an edge with the hostports that it lists now', async () => {
    const told = await toldBy(async () => edgeAt(['told.example:1', 'TOLD.example:2'], { backend: undefined }));
    expect(told.hostports.toSorted()).toEqual(['told.example:1', 'told.example:2']);
    const [id] = told.ids;
    const { client, accountId: account_id } = ours;
    expect(await toldBy(() => client.patch(`/edges/tcp/${id}`, { hostports: ['told.example:3'] }))).toEqual({
      account_id,
      ids: [id],
      hostports: ['told.example:3'],
    });
    const same = { account_id, ids: [id], hostports: ['told.example:3'] };
    expect(await toldBy(() => client.put(`/edges/tcp/${id}/backend`, { backend_id: 'bkdtg_1' }))).toEqual(same);
    expect(await toldBy(() => client.delete(`/edges/tcp/${id}/backend`))).toEqual(same);
    expect(await toldBy(() => client.delete(`/edges/tcp/${id}`))).toEqual({ account_id, ids: [id], hostports: [] });
  });

  it('tells of a policy, of its rules as the policy, and of a tunnel group', async () => {
    const { client, accountId: account_id } = ours;
    const made: { policy?: string; rule?: string; group?: string } = {};
    await toldBy(async () => {
      made.policy = await create('/ip_policies', {});
    });
    const policy = { account_id, ids: [made.policy], hostports: [] };
    const rule = { ip_policy_id: made.policy, cidr: '192.0.2.0/24', action: 'allow' };
    expect(
      await toldBy(async () => {
        made.rule = await create('/ip_policy_rules', rule);
      }),
    ).toEqual(policy);
    expect(await toldBy(() => client.patch(`/ip_policy_rules/${made.rule}`, { cidr: '10.0.0.0/8' }))).toEqual(policy);
    expect(await toldBy(() => client.delete(`/ip_policy_rules/${made.rule}`))).toEqual(policy);
    expect(await toldBy(() => client.delete(`/ip_policies/${made.policy}`))).toEqual(policy);
    await toldBy(async () => {
      made.group = await create('/backends/tunnel_group', { labels: { app: 'web' } });
    });
    const group = { account_id, ids: [made.group], hostports: [] };
    expect(await toldBy(() => client.patch(`/backends/tunnel_group/${made.group}`, { labels: { a: 'b' } }))).toEqual(
      group,
    );
    expect(await toldBy(() => client.delete(`/backends/tunnel_group/${made.group}`))).toEqual(group);
  });

  it('tells a gateway for one account about that account alone, and about no credential', async () => {
    streams.one.messages.length = 0;
    await edgeAt(['theirs.example:1'], {}, theirs);
    await create('/bot_users', { name: 'changes no edge' });
    const own = await toldBy(() => edgeAt(['own.example:1']), streams.one);
    expect(own.hostports).toEqual(['own.example:1']);
    expect(streams.one.messages).toHaveLength(1);
  });

  it('tells of the accounts one by one, the one with the fewest hostports first, whoever changed first', async () => {
    const many = Array.from({ length: 3 }, (_, n) =>
      Array.from({ length: 1_000 }, (_, port) => `crowd${n}.example:${port + 1}`),
    );
    const parts = [...many.map((hostports) => ({ hostports, by: theirs })), { hostports: ['few.example:1'], by: ours }];
    const paths: string[] = [];
    for (const { by } of parts) paths.push(`/edges/tcp/${await edgeAt([], {}, by)}`);
    await sleep(200);
    streams.all.messages.length = 0;
    // One transaction, so that one look finds all of them.
    const held = await service.pool.connect();
    await held.query('begin; lock table tcp_edges in share mode');
    const patches = parts.map(({ hostports, by }, n) => by.client.patch(paths[n] ?? '', { hostports }));
    await sleep(100);
    await held.query('commit');
    held.release();
    await Promise.all(patches);
    await eventually(() => expect(hostportsOf(streams.all.messages)).toBe(3_001));
    for (const { data } of streams.all.messages) expect([ours.accountId, theirs.accountId]).toContain(data.account_id);
  });
});

const hostportsOf = (messages: readonly { readonly data?: { readonly hostports: readonly string[] } }[]): number =>
  messages.reduce((sum, { data }) => sum + (data?.hostports.length ?? 0), 0);

describe('POST /ssh_gateway/edges', () => {
  const find = async (hostports: readonly string[], gateway = gateways.all) => {
    const { status, body } = await gateway.post('/ssh_gateway/edges', { hostports });
    expect(status).toBe(200);
    return body;
  };
  const answeredOf = ({ hostports }: { readonly hostports: readonly { readonly hostport: string }[] }) =>
    hostports.map(({ hostport }) => hostport);

  it('answers for each hostport as the question about it alone, with each edge once', async () => {
    const hostports = ['Batch.example:1', 'batch.example:2', 'batch.example:3'];
    await edgeAt(hostports, { ip_restriction: { ip_policy_ids: ['policy_1', 'policy_2'] } });
    await edgeAt(hostports.slice(1, 2));
    await edgeAt(['batch.example:4'], {}, theirs);
    await edgeAt(['batch.example:5'], { backend: { enabled: false, backend_id: 'bkdtg_1' } });
    for (const gateway of [gateways.all, gateways.one]) {
      const asked = [...hostports, 'BATCH.example.:4', 'batch.example:5', 'nobody.example:1'];
      const { edges, hostports: answers } = await find(asked, gateway);
      expect(new Set(edges.map(({ edge }: ListedEdge) => edge.id)).size).toBe(edges.length);
      expect(answers).toHaveLength(asked.length);
      for (const [n, { hostport, edge_id, others }] of answers.entries()) {
        const query = new URLSearchParams({ hostport: asked[n] ?? '' });
        const { body } = await gateway.get(`/ssh_gateway/edges?${query}`);
        expect(hostport).toBe(asked[n]?.toLowerCase().replace('.:', ':'));
        const edge = edges.find(({ edge: { id } }: ListedEdge) => id === edge_id) ?? null;
        expect({ edge, others }).toEqual(body);
      }
    }
  });

  it('answers for the first hostports as far as their edges have 4 MiB, for one alone whatever it has, and for all in the end', async () => {
    const hostports = Array.from({ length: 12 }, (_, n) => `rules.example:${n + 1}`);
    for (const hostport of hostports) {
      const policy = await policyWithRules(5_000);
      await edgeAt([hostport], { ip_restriction: { ip_policy_ids: [policy] } });
    }
    const sizes: number[] = [];
    const answered: string[] = [];
    for (let rest = hostports; rest.length > 0; rest = hostports.slice(answered.length)) {
      const body = await find(rest);
      sizes.push(JSON.stringify(body).length);
      for (const { ip_policies } of body.edges) expect(ip_policies[0].rules).toHaveLength(5_000);
      answered.push(...answeredOf(body));
    }
    expect(answered).toEqual(hostports);
    expect(sizes.length).toBeGreaterThan(1);
    expect(Math.max(...sizes)).toBeLessThan(4.1 * 1024 ** 2);
  });

  it('answers for all hostports of an edge with too many rules at once', async () => {
    const ip_policy_ids = [await policyWithRules(5_000), await policyWithRules(1)];
    const hostports = Array.from({ length: 100 }, (_, n) => `heavy.example:${n + 1}`);
    await edgeAt(hostports, { ip_restriction: { ip_policy_ids } });
    const body = await find(hostports);
    expect(answeredOf(body)).toEqual(hostports);
    expect(body.edges).toMatchObject([
      {
        ip_policies: [{ rules: null }, { rules: null }],
        ip_policies_error: expect.stringMatching(/have more than 5000 rules in all/),
      },
    ]);
  });

  it.each<[what: string, body: object, code: string]>([
    ['no hostport', { hostports: [] }, 'ERR_TAS_400'],
    ['an absent list', {}, 'ERR_TAS_400'],
    ['a text', { hostports: 'a:1' }, 'ERR_NGROK_215'],
    ['1,001 hostports', { hostports: Array(1_001).fill('a:1') }, 'ERR_TAS_400'],
    ['a hostport without port', { hostports: ['a:1', 'b'] }, 'ERR_NGROK_7104'],
    ['port 0', { hostports: ['a:0'] }, 'ERR_NGROK_7112'],
    ['an unknown field', { hostports: ['a:1'], source: '::1' }, 'ERR_NGROK_214'],
  ])('refuses %s', async (_, body, error_code) => {
    const answer = await gateways.all.post('/ssh_gateway/edges', body);
    expect(answer).toMatchObject({ status: 400, body: { error_code } });
  });
});

interface ListedEdge {
  readonly edge: { readonly id: string };
}
