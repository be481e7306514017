import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient } from './support/api-client.js';
import { EventStream } from './support/event-stream.js';
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

const create = async (path: string, body: object, { client } = ours): Promise<string> => {
  const answer = await client.post(path, body);
  expect(answer).toMatchObject({ status: 201 });
  return answer.body.id;
};
const edgeAt = (hostports: readonly string[], more: object = {}, by = ours) =>
  create('/edges/tcp', { hostports, ...more }, by);

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
    const told = await toldBy(async () => edgeAt(['told.example:1', 'TOLD.example:2']));
    expect(told.hostports.toSorted()).toEqual(['told.example:1', 'told.example:2']);
    const [id] = told.ids;
    const { client } = ours;
    expect(await toldBy(() => client.patch(`/edges/tcp/${id}`, { hostports: ['told.example:3'] }))).toEqual({
      ids: [id],
      hostports: ['told.example:3'],
    });
    const same = { ids: [id], hostports: ['told.example:3'] };
    expect(await toldBy(() => client.put(`/edges/tcp/${id}/backend`, { backend_id: 'bkdtg_1' }))).toEqual(same);
    expect(await toldBy(() => client.delete(`/edges/tcp/${id}/backend`))).toEqual(same);
    expect(await toldBy(() => client.delete(`/edges/tcp/${id}`))).toEqual({ ids: [id], hostports: [] });
  });

  it('tells of a policy, of its rules as the policy, and of a tunnel group', async () => {
    const { client } = ours;
    const made: { policy?: string; rule?: string; group?: string } = {};
    await toldBy(async () => {
      made.policy = await create('/ip_policies', {});
    });
    const policy = { ids: [made.policy], hostports: [] };
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
    const group = { ids: [made.group], hostports: [] };
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
});
