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

interface Resource<Item extends { id: string }, Arg, Change> {
  create(arg: Arg): Promise<Item>;
  get(id: string): Promise<Item>;
  list(beforeId?: string, limit?: string): Promise<Item[]>;
  update(change: Change): Promise<Item>;
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

/** Creates, reads, changes, lists over several pages and deletes. The client sends the whole answer back in an update. */
async function walk<Item extends { id: string }, Arg, Change>(
  resource: Resource<Item, Arg, Change>,
  { arg, more, whole, path, change }: Walk<Arg>,
): Promise<void> {
  const created = await resource.create(arg);
  const { id } = created;
  expect(created).toEqual({
    id: expect.stringMatching(/^[a-z]+_\w{27}$/),
    createdAt: CREATED_AT,
    uri: `${proxy.url}/${path}/${id}`,
    ...whole,
  });
  expect(await resource.get(id)).toEqual(created);
  const update = (fields: object) => resource.update(fields as Change);
  const changed = await update({ id, ...change });
  expect(changed).toEqual({ ...created, ...change });
  expect(await update(changed)).toEqual(changed);

  const made = [id];
  for (let i = 0; i < 4; i += 1) made.unshift((await resource.create(more(i))).id);
  const all = await resource.list();
  proxy.requests.length = 0;
  expect(await resource.list(undefined, '2')).toEqual(all);
  expect(proxy.requests).toHaveLength(Math.ceil(all.length / 2));
  expect(all.slice(0, 5).map((one) => one.id)).toEqual(made);
  expect((await resource.list(made[3], '100'))[0]).toEqual(changed);
  await expectDeleted({ get: () => resource.get(id), remove: () => resource.delete(id) });
}

interface Walk<Arg> {
  readonly arg: Arg;
  readonly more: (n: number) => Arg;
  /** The created item without its id, address and time. */
  readonly whole: object;
  readonly path: string;
  readonly change: object;
}

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
    const create = () => ngrok.sshCredentials.create({ publicKey: newPublicKey(), acl: [] });
    const [older, newer] = [await create(), await create()];
    const [first] = await ngrok.sshCredentials.list(newer.id, '1');
    expect(proxy.requests[2]?.path).toBe(`/ssh_credentials?limit=1&beforeId=${newer.id}`);
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
    const arg = { publicKey, acl, description: 'laptop', metadata: '{"a_b":1}' };
    await walk(ngrok.sshCredentials, {
      ...{ arg, path: 'ssh_credentials', whole: { ...arg, ownerId: expect.stringMatching(/^usr_/) } },
      more: () => ({ publicKey: newPublicKey(), acl: [] }),
      // undefined keeps a field, "" and [] clear it.
      change: { description: '', acl: [] },
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
    const arg = {
      ...{ description: 'edge', metadata: 'm', hostports: ['App.example.test:443', '[2001:DB8::1]:22'] },
      backend: { backendId: 'bkdtg_1' },
      ipRestriction: { enabled: false, ipPolicyIds: ['ipp_1', 'ipp_2'] },
    };
    const ipPolicies = ['ipp_1', 'ipp_2'].map((id) => ({ id, uri: `${proxy.url}/ip_policies/${id}` }));
    const backend = { id: 'bkdtg_1', uri: `${proxy.url}/backends/tunnel_group/bkdtg_1` };
    await walk(ngrok.edges.edgesTcp, {
      ...{ arg, path: 'edges/tcp', change: { description: '', hostports: [] } },
      whole: {
        ...{ ...arg, backend: { enabled: true, backend }, trafficPolicy: null },
        ipRestriction: { enabled: false, ipPolicies },
      },
      more: (i) => ({ hostports: [`host-${i}.example.test:1`] }),
    });
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
    const arg = { description: 'camera', metadata: 'm', region: 'us' };
    await walk(ngrok.reservedAddrs, {
      ...{ arg, path: 'reserved_addrs', change: { description: '' }, more: () => ({ region: '' }) },
      whole: { ...arg, addr: expect.stringMatching(/^1\.tcp\.example\.com:200\d\d$/) },
    });
  });

  it('may be named by a field that its types do not have', async () => {
    const arg = { region: '', addr: 'Camera.example.com:22' };
    expect(await ngrok.reservedAddrs.create(arg)).toMatchObject({ addr: 'camera.example.com:22', region: '' });
  });
});

describe('reserved domains', () => {
  it('are created, read, listed over several pages, updated and deleted', async () => {
    const arg = { domain: 'Shop.example.com', region: 'us', description: 'shop', metadata: 'm' };
    const certificates = { certificate: null, certificateManagementPolicy: null, certificateManagementStatus: null };
    await walk(ngrok.reservedDomains, {
      ...{ arg, path: 'reserved_domains', change: { description: '' } },
      whole: { ...arg, ...certificates, cnameTarget: null, acmeChallengeCnameTarget: null, resolvesTo: null },
      more: (i) => ({ domain: `*.shop-${i}.example.com`, region: '' }),
    });
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
  it('policies are created, read, listed over several pages, updated and deleted', async () => {
    const arg = { description: 'office', metadata: 'm' };
    const change = { description: '' };
    await walk(ngrok.ipPolicies, { arg, path: 'ip_policies', whole: arg, change, more: () => ({}) });
  });

  it('rules are created, read, listed over several pages, updated and deleted', async () => {
    const { id, uri } = await ngrok.ipPolicies.create({});
    const arg = { cidr: '192.0.2.0/24', ipPolicyId: id, action: 'allow' };
    await walk(ngrok.ipPolicyRules, {
      ...{ arg, path: 'ip_policy_rules', change: { cidr: '2001:db8::/32' } },
      whole: { description: '', metadata: '', cidr: '192.0.2.0/24', ipPolicy: { id, uri }, action: 'allow' },
      more: (i) => ({ cidr: `198.51.100.${i}`, ipPolicyId: id, action: 'deny' }),
    });
  });

  it('tunnel groups are created, read, listed over several pages, updated and deleted', async () => {
    // Its types say Map, and its serializer takes the names of an object.
    const labels = (app: string) => ({ app }) as unknown as Map<string, string>;
    await walk(ngrok.backends.tunnelGroupBackends, {
      arg: { description: 'farm', labels: labels('build') },
      whole: { description: 'farm', metadata: '', labels: labels('build'), tunnels: [] },
      ...{ path: 'backends/tunnel_group', change: { labels: labels('test') } },
      more: () => ({ description: '', labels: labels('more') }),
    });
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
    await walk(ngrok.botUsers, {
      ...{ arg: { name: 'ci' }, path: 'bot_users', whole: { name: 'ci', active: true } },
      ...{ change: { name: 'ci 2', active: false }, more: (i) => ({ name: `more ${i}` }) },
    });
  });
});

describe('API keys', () => {
  it('are created with a token, which they show once, updated and deleted', async () => {
    const created = await ngrok.apiKeys.create({ description: 'for CI', metadata: 'm' });
    const { id, token = '' } = created;
    expect(token).toMatch(/^\w{27}_/);
    const withIt = new Ngrok({ apiToken: token, baseUrl: proxy.url });
    const later = { ...created, token: null };
    expect(await withIt.apiKeys.get(id)).toEqual(later);
    expect(await ngrok.apiKeys.update({ id, description: '' })).toEqual({ ...later, description: '' });
    expect((await ngrok.apiKeys.list(undefined, '1'))[0]).toEqual({ ...later, description: '' });
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
