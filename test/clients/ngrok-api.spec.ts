import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Ngrok } from '@ngrok/ngrok-api';
import { newPublicKey } from '../support/keys.js';
import { addUser } from '../support/principals.js';
import { ADMIN_KEY, GATEWAY, type Service, startService } from '../support/service.js';
import { newSession, newTunnel, ReportingGateway } from '../support/session-reports.js';
import { type RecordedRequest, type RecordingProxy, startRecordingProxy } from './recording-proxy.js';

/** The real npm client, unchanged, against the running service. The proxy between them only records the requests. */
let service: Service;
let proxy: RecordingProxy;
let ngrok: Ngrok;

beforeAll(async () => {
  service = await startService({ ...GATEWAY, addressPools: POOLS });
  proxy = await startRecordingProxy(service.app.url);
  ngrok = new Ngrok({ apiToken: ADMIN_KEY, baseUrl: proxy.url });
});
afterAll(async () => {
  await proxy.stop();
  await service.stop();
});
beforeEach(() => {
  proxy.requests.length = 0;
});

const POOLS = [{ host: '1.tcp.example.com', from: 20_000, to: 20_099, region: '' }];

const lastRequest = (): RecordedRequest => {
  const request = proxy.requests.at(-1);
  if (request === undefined) throw new Error('the client sent nothing');
  return request;
};

const CREATED_AT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

interface Resource<Item extends { id: string }> {
  get(id: string): Promise<Item>;
  list(beforeId?: string, limit?: string): Promise<Item[]>;
  delete(id: string): Promise<void>;
}

/** Version 0.11.0 parses the empty body of every 204 and fails, although the service has executed the request. */
async function expectDeleted({ get, remove }: { get: () => Promise<unknown>; remove: () => Promise<unknown> }) {
  const error = await remove().then(
    () => 'no error',
    (reason: unknown) => reason,
  );
  // As docs/api.md says, with the pattern that it gives.
  expect(error).toMatchObject({ name: 'SyntaxError' });
  expect(String(error)).toMatch(/"invalid js/);
  expect(lastRequest().method).toBe('DELETE');
  await expect(get()).rejects.toMatchObject({ statusCode: 404 });
}

/** Lists with two items a page; `made` are the newest, oldest first. */
async function expectSeveralPages<Item extends { id: string }>(resource: Resource<Item>, made: readonly Item[]) {
  const all = await resource.list();
  proxy.requests.length = 0;
  expect(await resource.list(undefined, '2')).toEqual(all);
  expect(proxy.requests).toHaveLength(Math.ceil(all.length / 2));
  expect(all.slice(0, made.length).map(({ id }) => id)).toEqual(made.map(({ id }) => id).reverse());
  const [cursor] = made;
  if (cursor === undefined) throw new Error('a list of nothing shows nothing');
  expect((await resource.list(made[1]?.id, '100'))[0]).toEqual(cursor);
}

const times = async <Made>(n: number, make: (i: number) => Promise<Made>): Promise<Made[]> => {
  const made: Made[] = [];
  for (let i = 0; i < n; i += 1) made.push(await make(i));
  return made;
};

describe('it sends what the contract is based on', () => {
  it('a bearer token, its version, and a JSON content type on a GET without a body', async () => {
    await ngrok.sshCredentials.list();
    expect(lastRequest()).toMatchObject({
      method: 'GET',
      path: '/ssh_credentials?limit=100',
      body: '',
      headers: { authorization: `Bearer ${ADMIN_KEY}`, 'ngrok-version': '2', 'content-type': 'application/json' },
    });
  });

  it('beforeId, not before_id', async () => {
    const [older, newer] = await times(2, () => ngrok.sshCredentials.create({ publicKey: newPublicKey(), acl: [] }));
    const [first] = await ngrok.sshCredentials.list(newer?.id, '1');
    expect(proxy.requests[2]?.path).toBe(`/ssh_credentials?limit=1&beforeId=${newer?.id}`);
    expect(first).toEqual(older);
  });

  it('the id in the body of a PATCH, and in that of a PUT beside the module', async () => {
    const edge = await ngrok.edges.edgesTcp.create({});
    await ngrok.edges.edgesTcp.update({ id: edge.id, metadata: 'm' });
    expect(lastRequest()).toMatchObject({ method: 'PATCH', body: `{"id":"${edge.id}","metadata":"m"}` });
    await ngrok.edgeModules.tcpEdgeBackendModule.replace({ id: edge.id, module: { backendId: 'bkdtg_1' } });
    expect(lastRequest()).toMatchObject({
      method: 'PUT',
      body: `{"id":"${edge.id}","module":{"backend_id":"bkdtg_1"}}`,
    });
  });

  it('works with a base URL that ends in a slash', async () => {
    const slashed = new Ngrok({ apiToken: ADMIN_KEY, baseUrl: `${proxy.url}/` });
    expect(await slashed.botUsers.list()).toEqual(await ngrok.botUsers.list());
    expect(proxy.requests[0]?.path).toMatch(/^\/\/bot_users/);
  });
});

describe('SSH credentials', () => {
  it('are created, read, listed over several pages, updated and deleted', async () => {
    const publicKey = newPublicKey('laptop  of ünï');
    const acl = ['bind:*.example.com', 'bind:team=blue', 'bind:*.example.com'];
    const created = await ngrok.sshCredentials.create({ publicKey, acl, description: 'laptop', metadata: '{"a_b":1}' });
    const { id } = created;
    expect(created).toEqual({
      id: expect.stringMatching(/^sshcr_/),
      uri: `${proxy.url}/ssh_credentials/${id}`,
      createdAt: CREATED_AT,
      description: 'laptop',
      metadata: '{"a_b":1}',
      publicKey,
      acl,
      ownerId: expect.stringMatching(/^usr_/),
    });
    expect(await ngrok.sshCredentials.get(id)).toEqual(created);

    // undefined keeps a field, "" and [] clear it.
    expect(await ngrok.sshCredentials.update({ id, description: '' })).toEqual({ ...created, description: '' });
    const { acl: cleared, metadata } = await ngrok.sshCredentials.update({ id, acl: [] });
    expect([cleared, metadata]).toEqual([[], '{"a_b":1}']);
    const back = await ngrok.sshCredentials.update(created);
    expect(back).toEqual(created);

    const more = await times(4, () => ngrok.sshCredentials.create({ publicKey: newPublicKey(), acl: [] }));
    expect(more[0]).toMatchObject({ description: '', metadata: '', acl: [] });
    await expectSeveralPages(ngrok.sshCredentials, [created, ...more]);
    await expectDeleted({
      get: () => ngrok.sshCredentials.get(id),
      remove: () => ngrok.sshCredentials.delete(id),
    });
  });

  it('may belong to a bot that an admin names', async () => {
    const bot = await ngrok.botUsers.create({ name: 'owner', active: true });
    const arg = { publicKey: newPublicKey(), acl: [], ownerId: bot.id };
    expect(await ngrok.sshCredentials.create(arg)).toMatchObject({ ownerId: bot.id });
  });
});

describe('tunnel sessions and tunnels', () => {
  it('are read, listed over several pages, and stopped', async () => {
    const { id, ownerId } = await ngrok.sshCredentials.create({ publicKey: newPublicKey(), acl: [] });
    const { rows } = await service.pool.query('select account_id as "accountId" from ssh_credentials where id = $1', [
      id,
    ]);
    const sessions = Array.from({ length: 5 }, () => newSession({ accountId: rows[0].accountId, id }));
    const tunnels = sessions.map((session) => newTunnel(session));
    await new ReportingGateway(service.gateway).whole({ sessions, tunnels });
    const [{ id: sessionId } = { id: '' }] = sessions;
    const session = await ngrok.tunnelSessions.get(sessionId);
    expect(session).toMatchObject({
      id: sessionId,
      ip: '203.0.113.9',
      agentVersion: 'SSH-2.0-OpenSSH_9.2',
      credential: { id, uri: `${proxy.url}/ssh_credentials/${id}` },
      startedAt: CREATED_AT,
      transport: 'ssh',
      ownerId,
    });
    expect(await ngrok.tunnelSessions.list()).toContainEqual(session);
    proxy.requests.length = 0;
    expect((await ngrok.tunnelSessions.list(undefined, '2')).map((one) => one.id)).toEqual(
      sessions
        .map((one) => one.id)
        .sort()
        .reverse(),
    );
    expect(proxy.requests).toHaveLength(3);
    const tunnel = await ngrok.tunnels.get(tunnels[0]?.id ?? '');
    expect(tunnel).toMatchObject({ publicUrl: 'tcp://1.tcp.example.com:20000', tunnelSession: { id: sessionId } });
    expect(await ngrok.tunnels.list()).toContainEqual(tunnel);

    // The client sends the bare id as the body, and cannot read an empty answer: see expectDeleted.
    for (const act of ['restart', 'stop'] as const) {
      await expect(ngrok.tunnelSessions[act](sessionId)).rejects.toMatchObject({ name: 'SyntaxError' });
      expect(lastRequest()).toMatchObject({ path: `/tunnel_sessions/${sessionId}/${act}`, body: sessionId });
    }
    const stops = (await service.admin.get('/events?type=tunnel_session_stopped.v1')).body.events;
    expect(stops).toMatchObject([{ subject: sessionId }, { subject: sessionId }]);
  });
});

describe('TCP edges', () => {
  it('are created, read, listed over several pages, updated and deleted', async () => {
    const { edgesTcp } = ngrok.edges;
    const hostports = ['App.example.test:443', '[2001:DB8::1]:22'];
    const created = await edgesTcp.create({
      description: 'edge',
      metadata: 'm',
      hostports,
      backend: { backendId: 'bkdtg_1' },
      ipRestriction: { enabled: false, ipPolicyIds: ['ipp_1', 'ipp_2'] },
    });
    const { id } = created;
    expect(created).toEqual({
      id: expect.stringMatching(/^edgtcp_/),
      uri: `${proxy.url}/edges/tcp/${id}`,
      createdAt: CREATED_AT,
      description: 'edge',
      metadata: 'm',
      hostports,
      backend: {
        enabled: true,
        backend: { id: 'bkdtg_1', uri: `${proxy.url}/backends/tunnel_group/bkdtg_1` },
      },
      ipRestriction: {
        enabled: false,
        ipPolicies: ['ipp_1', 'ipp_2'].map((policy) => ({ id: policy, uri: `${proxy.url}/ip_policies/${policy}` })),
      },
      trafficPolicy: null,
    });
    expect(await edgesTcp.get(id)).toEqual(created);

    expect(await edgesTcp.update({ id, description: '' })).toEqual({ ...created, description: '' });
    const bare = await edgesTcp.update({ id, hostports: [], ipRestriction: { ipPolicyIds: [] } });
    expect(bare).toEqual({
      ...created,
      description: '',
      hostports: [],
      ipRestriction: { enabled: true, ipPolicies: [] },
    });

    const more = await times(4, (i) => edgesTcp.create({ hostports: [`host-${i}.example.test:1`] }));
    expect(more[0]).toMatchObject({ backend: null, ipRestriction: null });
    await expectSeveralPages(edgesTcp, [bare, ...more]);
    await expectDeleted({ get: () => edgesTcp.get(id), remove: () => edgesTcp.delete(id) });
  });

  it('have a traffic policy, which passes unchanged although this client version has no type for it', async () => {
    const value = '{"on_tcp_connect":[{"actions":[{"type":"deny"}]}]}';
    const arg = { hostports: ['a.example.test:1'], trafficPolicy: { value } };
    const created = await ngrok.edges.edgesTcp.create(arg);
    expect(created).toMatchObject({ trafficPolicy: { enabled: true, value } });
    expect(await ngrok.edges.edgesTcp.get(created.id)).toEqual(created);
  });
});

describe('reserved addresses', () => {
  it('are created, read, listed over several pages, updated and deleted', async () => {
    // The client has no field for the address: the service gives one of its pools.
    const created = await ngrok.reservedAddrs.create({ description: 'camera', metadata: 'm', region: 'us' });
    expect(lastRequest().body).toBe('{"description":"camera","metadata":"m","region":"us"}');
    const { id } = created;
    expect(created).toEqual({
      id: expect.stringMatching(/^ra_/),
      uri: `${proxy.url}/reserved_addrs/${id}`,
      createdAt: CREATED_AT,
      description: 'camera',
      metadata: 'm',
      addr: expect.stringMatching(/^1\.tcp\.example\.com:200\d\d$/),
      region: 'us',
    });
    expect(await ngrok.reservedAddrs.get(id)).toEqual(created);
    const renamed = await ngrok.reservedAddrs.update({ id, description: '' });
    expect(renamed).toEqual({ ...created, description: '' });
    // The client sends the whole answer back.
    expect(await ngrok.reservedAddrs.update(renamed)).toEqual(renamed);

    const more = await times(4, () => ngrok.reservedAddrs.create({ region: '' }));
    expect(more[0]).toMatchObject({ description: '', metadata: '', region: '' });
    await expectSeveralPages(ngrok.reservedAddrs, [renamed, ...more]);
    await expectDeleted({ get: () => ngrok.reservedAddrs.get(id), remove: () => ngrok.reservedAddrs.delete(id) });
  });

  it('may be named by a field that its types do not have', async () => {
    const arg = { region: '', addr: 'Camera.example.com:22' };
    expect(await ngrok.reservedAddrs.create(arg)).toMatchObject({ addr: 'camera.example.com:22', region: '' });
  });
});

describe('reserved domains', () => {
  it('are created, read, listed over several pages, updated and deleted', async () => {
    const arg = { domain: 'Shop.example.com', region: 'us', description: 'shop', metadata: 'm' };
    const created = await ngrok.reservedDomains.create(arg);
    const { id } = created;
    expect(created).toEqual({
      id: expect.stringMatching(/^rd_/),
      uri: `${proxy.url}/reserved_domains/${id}`,
      createdAt: CREATED_AT,
      ...arg,
      cnameTarget: null,
      certificate: null,
      certificateManagementPolicy: null,
      certificateManagementStatus: null,
      acmeChallengeCnameTarget: null,
      resolvesTo: null,
    });
    expect(await ngrok.reservedDomains.get(id)).toEqual(created);
    const renamed = await ngrok.reservedDomains.update({ id, description: '' });
    expect(renamed).toEqual({ ...created, description: '' });
    expect(await ngrok.reservedDomains.update(renamed)).toEqual(renamed);

    const more = await times(4, (i) => ngrok.reservedDomains.create({ domain: `*.shop-${i}.example.com`, region: '' }));
    await expectSeveralPages(ngrok.reservedDomains, [renamed, ...more]);
    await expectDeleted({ get: () => ngrok.reservedDomains.get(id), remove: () => ngrok.reservedDomains.delete(id) });
  });

  it('have no certificate: to ask for one is an error, not a promise', async () => {
    const certificateManagementPolicy = { authority: 'letsencrypt', privateKeyType: 'ecdsa' };
    const arg = { domain: 'tls.example.com', region: '', certificateManagementPolicy };
    await expect(ngrok.reservedDomains.create(arg)).rejects.toMatchObject({
      statusCode: 400,
      errorCode: 'ERR_TAS_400',
      msg: expect.stringMatching(/issues no certificates/),
    });
  });
});

describe('IP policies, their rules and tunnel groups', () => {
  it('policies and rules are created, read, listed over several pages, updated and deleted', async () => {
    const policy = await ngrok.ipPolicies.create({ description: 'office', metadata: 'm' });
    expect(policy).toEqual({
      id: expect.stringMatching(/^ipp_/),
      uri: `${proxy.url}/ip_policies/${policy.id}`,
      createdAt: CREATED_AT,
      description: 'office',
      metadata: 'm',
    });
    expect(await ngrok.ipPolicies.get(policy.id)).toEqual(policy);
    const renamed = await ngrok.ipPolicies.update({ id: policy.id, description: '' });
    expect(renamed).toEqual({ ...policy, description: '' });
    expect(await ngrok.ipPolicies.update(renamed)).toEqual(renamed);

    const rule = await ngrok.ipPolicyRules.create({ cidr: '192.0.2.0/24', ipPolicyId: policy.id, action: 'allow' });
    expect(rule).toEqual({
      id: expect.stringMatching(/^ipr_/),
      uri: `${proxy.url}/ip_policy_rules/${rule.id}`,
      createdAt: CREATED_AT,
      description: '',
      metadata: '',
      cidr: '192.0.2.0/24',
      ipPolicy: { id: policy.id, uri: policy.uri },
      action: 'allow',
    });
    expect(await ngrok.ipPolicyRules.get(rule.id)).toEqual(rule);
    const moved = await ngrok.ipPolicyRules.update({ id: rule.id, cidr: '2001:db8::/32' });
    expect(moved).toEqual({ ...rule, cidr: '2001:db8::/32' });
    // The client sends the whole answer back.
    expect(await ngrok.ipPolicyRules.update(moved)).toEqual(moved);
    const more = await times(4, (i) =>
      ngrok.ipPolicyRules.create({ cidr: `198.51.100.${i}`, ipPolicyId: policy.id, action: 'deny' }),
    );
    await expectSeveralPages(ngrok.ipPolicyRules, [moved, ...more]);
    await expectSeveralPages(ngrok.ipPolicies, [renamed, ...(await times(4, () => ngrok.ipPolicies.create({})))]);
    await expectDeleted({
      get: () => ngrok.ipPolicyRules.get(rule.id),
      remove: () => ngrok.ipPolicyRules.delete(rule.id),
    });
    await expectDeleted({
      get: () => ngrok.ipPolicies.get(policy.id),
      remove: () => ngrok.ipPolicies.delete(policy.id),
    });
  });

  it('tunnel groups are created, read, listed over several pages, updated and deleted', async () => {
    const { tunnelGroupBackends } = ngrok.backends;
    // Its types say Map, and its serializer takes the names of an object.
    const labels = (app: string) => ({ app }) as unknown as Map<string, string>;
    const created = await tunnelGroupBackends.create({ description: 'farm', labels: labels('build') });
    const { id } = created;
    expect(created).toEqual({
      id: expect.stringMatching(/^bkdtg_/),
      uri: `${proxy.url}/backends/tunnel_group/${id}`,
      createdAt: CREATED_AT,
      description: 'farm',
      metadata: '',
      labels: { app: 'build' },
      tunnels: [],
    });
    expect(await tunnelGroupBackends.get(id)).toEqual(created);
    const changed = await tunnelGroupBackends.update({ id, labels: labels('test') });
    expect(changed).toEqual({ ...created, labels: { app: 'test' } });
    expect(await tunnelGroupBackends.update(changed)).toEqual(changed);
    const more = await times(4, () => tunnelGroupBackends.create({ labels: new Map() }));
    await expectSeveralPages(tunnelGroupBackends, [changed, ...more]);
    await expectDeleted({ get: () => tunnelGroupBackends.get(id), remove: () => tunnelGroupBackends.delete(id) });
  });
});

describe('modules of a TCP edge', () => {
  it('backend and ip_restriction are set, read and removed', async () => {
    const { tcpEdgeBackendModule: backends, tcpEdgeIpRestrictionModule: restrictions } = ngrok.edgeModules;
    const { id } = await ngrok.edges.edgesTcp.create({});
    const backend = { enabled: false, backend: { id: 'bkdsc_1', uri: `${proxy.url}/backends/static/bkdsc_1` } };
    expect(await backends.replace({ id, module: { enabled: false, backendId: 'bkdsc_1' } })).toEqual(backend);
    expect(await backends.get(id)).toEqual(backend);
    const restriction = { enabled: true, ipPolicies: [{ id: 'ipp_1', uri: `${proxy.url}/ip_policies/ipp_1` }] };
    expect(await restrictions.replace({ id, module: { ipPolicyIds: ['ipp_1'] } })).toEqual(restriction);
    expect(await restrictions.get(id)).toEqual(restriction);
    expect(await ngrok.edges.edgesTcp.get(id)).toMatchObject({ backend, ipRestriction: restriction });
    await expectDeleted({ get: () => backends.get(id), remove: () => backends.delete(id) });
    await expectDeleted({ get: () => restrictions.get(id), remove: () => restrictions.delete(id) });
    expect(await ngrok.edges.edgesTcp.get(id)).toMatchObject({ backend: null, ipRestriction: null });
  });

  it('the client has no other modules: neither traffic_policy nor its predecessor policy, which we do not serve', async () => {
    expect(Object.keys(ngrok.edgeModules).filter((name) => name.startsWith('tcp'))).toEqual([
      'tcpEdgeBackendModule',
      'tcpEdgeIpRestrictionModule',
    ]);
    // Its type of an edge has the predecessor. An edge whose policy is silently ignored would be open by mistake.
    await expect(ngrok.edges.edgesTcp.create({ policy: { inbound: [], outbound: [] } })).rejects.toMatchObject({
      statusCode: 400,
      errorCode: 'ERR_NGROK_214',
      msg: expect.stringMatching(/'policy' is not a field .* traffic_policy/),
    });
  });
});

describe('bot users', () => {
  it('are created, read, listed over several pages, updated and deleted', async () => {
    const created = await ngrok.botUsers.create({ name: 'ci' });
    const { id } = created;
    expect(created).toEqual({
      id: expect.stringMatching(/^bot_/),
      uri: `${proxy.url}/bot_users/${id}`,
      name: 'ci',
      active: true,
      createdAt: CREATED_AT,
    });
    expect(await ngrok.botUsers.get(id)).toEqual(created);
    expect(await ngrok.botUsers.update({ id, active: false })).toEqual({ ...created, active: false });
    const renamed = await ngrok.botUsers.update({ id, name: 'ci 2' });
    expect(renamed).toEqual({ ...created, name: 'ci 2', active: false });
    const more = await times(4, (i) => ngrok.botUsers.create({ name: `more ${i}` }));
    await expectSeveralPages(ngrok.botUsers, [renamed, ...more]);
    await expectDeleted({ get: () => ngrok.botUsers.get(id), remove: () => ngrok.botUsers.delete(id) });
  });
});

describe('API keys', () => {
  it('are created, read, listed over several pages, updated and deleted', async () => {
    const created = await ngrok.apiKeys.create({ description: 'for CI', metadata: 'm' });
    const { id, token = '' } = created;
    expect(created).toEqual({
      id: expect.stringMatching(/^ak_/),
      uri: `${proxy.url}/api_keys/${id}`,
      description: 'for CI',
      metadata: 'm',
      createdAt: CREATED_AT,
      ownerId: expect.stringMatching(/^usr_/),
      token: expect.stringMatching(/^\w{27}_/),
    });
    const withIt = new Ngrok({ apiToken: token, baseUrl: proxy.url });
    const later = { ...created, token: null };
    expect(await withIt.apiKeys.get(id)).toEqual(later);
    expect(await ngrok.apiKeys.update({ id, description: '' })).toEqual({ ...later, description: '' });
    const more = await times(4, () => ngrok.apiKeys.create({}));
    await expectSeveralPages(ngrok.apiKeys, [
      await ngrok.apiKeys.get(id),
      ...(await Promise.all(more.map((key) => ngrok.apiKeys.get(key.id)))),
    ]);
    await expectDeleted({ get: () => ngrok.apiKeys.get(id), remove: () => ngrok.apiKeys.delete(id) });
    await expect(withIt.apiKeys.list()).rejects.toMatchObject({ statusCode: 401, errorCode: 'ERR_NGROK_203' });
  });
});

describe('errors', () => {
  const operationId = expect.stringMatching(/^op_\w{27}$/);
  const refused = async (call: Promise<unknown>, statusCode: number, errorCode: string, msg: RegExp): Promise<void> => {
    const error = await call.catch((thrown: unknown) => thrown);
    expect(error).toEqual({
      statusCode,
      errorCode,
      msg: expect.stringMatching(msg),
      details: new Map([['operationId', operationId]]),
    });
  };

  it('arrive as objects with the code, the status, the message and the details', async () => {
    const { sshCredentials } = ngrok;
    const publicKey = newPublicKey();
    const long = 'x'.repeat(256);
    await refused(sshCredentials.get('sshcr_nope'), 404, 'ERR_TAS_404', /./);
    await refused(sshCredentials.delete('sshcr_nope'), 404, 'ERR_TAS_404', /./);
    await refused(sshCredentials.create({ publicKey: 'no key', acl: [] }), 400, 'ERR_NGROK_612', /./);
    await refused(sshCredentials.create({ publicKey, acl: ['example.com'] }), 400, 'ERR_NGROK_600', /acl\[0\]/);
    await refused(
      sshCredentials.create({ publicKey, acl: [], description: long }),
      400,
      'ERR_NGROK_604',
      /256 bytes long; the maximum is 255/,
    );
    await refused(sshCredentials.list('nope', '2'), 400, 'ERR_NGROK_223', /'nope'/);
    await refused(sshCredentials.list(undefined, '0'), 400, 'ERR_NGROK_233', /limit is 0/);
    await refused(ngrok.edges.edgesTcp.get('edgtcp_nope'), 404, 'ERR_NGROK_7000', /./);
    await refused(ngrok.edges.edgesTcp.create({ hostports: ['a:0'] }), 400, 'ERR_NGROK_7112', /hostports\[0\]/);
    await ngrok.botUsers.create({ name: 'taken' });
    await refused(ngrok.botUsers.create({ name: 'taken' }), 409, 'ERR_TAS_409', /exists already/);
  });

  it('include those of authentication and of roles', async () => {
    const stranger = new Ngrok({ apiToken: 'no-such-key-0123456789', baseUrl: proxy.url });
    await refused(stranger.sshCredentials.list(), 401, 'ERR_NGROK_203', /./);
    const { client } = await addUser(service, 'member');
    const member = new Ngrok({ apiToken: client.token ?? '', baseUrl: proxy.url });
    await refused(member.botUsers.create({ name: 'mine' }), 403, 'ERR_NGROK_635', /./);
  });
});
