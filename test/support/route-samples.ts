import { setTimeout as sleep } from 'node:timers/promises';
import { EdgePorts } from '../../src/api/gateway-api/edges/edge-ports.js';
import { KeyHistory, newCheckpointKey } from '../../src/event-log/transparency/seal/checkpoint-key.js';
import { type Answer, ApiClient } from './api-client.js';
import { newPublicKey } from './keys.js';
import type { TestPrincipal } from './principals.js';
import type { Service } from './service.js';
import { newSession, newTunnel, ReportingGateway } from './session-reports.js';

/** The service under test, and an admin of it. */
export interface Walk {
  readonly service: Service;
  readonly admin: TestPrincipal;
}

interface Sample {
  /** A call of this route that succeeds: what to create first for the path's `:id`, and the body. */
  readonly on?: keyof typeof MAKERS;
  /** What else to make for the path's `:id`: it returns the id. */
  readonly made?: (walk: Walk) => Promise<string>;
  readonly body?: (walk: Walk) => object | Promise<object>;
  readonly query?: (walk: Walk) => Promise<Record<string, string>>;
  /** What stands for the path's `*`. */
  readonly rest?: string;
  /** An admin's call is made with a new enrollment key instead. */
  readonly byEnrollmentKey?: true;
  /** A call to make first: a module must be set before it can be read. */
  readonly before?: { readonly method: string; readonly body: () => object };
}

/** A call that a caller with an API key may make. The client of an admin creates what its body needs. */
interface ResourceSample extends Omit<Sample, 'body'> {
  readonly body?: (client: ApiClient) => object | Promise<object>;
}

let n = 0;
const next = (): number => {
  n += 1;
  return n;
};

const expiry = () => ({ expires_at: new Date(Date.now() + 3_600_000 + next()).toISOString() });

/** Bodies that create one entity of each resource. */
export const MAKERS = {
  ssh_credentials: () => ({ public_key: newPublicKey() }),
  'edges/tcp': () => ({ hostports: [`host-${next()}.example.test:443`], ...expiry() }),
  users: () => ({ email: `walker-${next()}@example.test` }),
  bot_users: () => ({ name: `walker ${next()}` }),
  service_users: () => ({ name: `walker ${next()}` }),
  api_keys: () => ({}),
  ip_policies: () => ({ description: `office ${next()}` }),
  ip_policy_rules: async (client: ApiClient) => ({
    ip_policy_id: (await client.post('/ip_policies', {})).body.id,
    cidr: `192.0.2.${next() % 256}`,
    action: 'allow',
  }),
  'backends/tunnel_group': () => ({ labels: { app: `app-${next()}` } }),
  enrollment_keys: () => ({ acl: ['bind:{name}.devices.example.test'], max_uses: 5 }),
  reserved_addrs: () => ({ addr: `host-${next()}.example.test:443` }),
  reserved_domains: () => ({ domain: `domain-${next()}.example.test` }),
};

const MODULES = {
  backend: () => ({ backend_id: `bkdhr_${next()}` }),
  ip_restriction: () => ({ ip_policy_ids: [`ipp_${next()}`] }),
  traffic_policy: () => ({ value: `{"n":${next()}}` }),
};

const resource = (path: keyof typeof MAKERS, change: () => object): Record<string, ResourceSample> => ({
  [`POST /${path}`]: { body: MAKERS[path] },
  [`GET /${path}`]: {},
  [`GET /${path}/:id`]: { on: path },
  [`GET /${path}/:id/events`]: { on: path },
  [`PATCH /${path}/:id`]: { on: path, body: change },
  [`DELETE /${path}/:id`]: { on: path },
});

const withoutPatch = (samples: Record<string, ResourceSample>): Record<string, ResourceSample> =>
  Object.fromEntries(Object.entries(samples).filter(([route]) => !route.startsWith('PATCH ')));

/** A part of a resource with its own path. */
const part = (on: keyof typeof MAKERS, name: string, body: () => object): Record<string, ResourceSample> => {
  const before = { method: 'PUT', body };
  return {
    [`PUT /${on}/:id/${name}`]: { on, body },
    [`GET /${on}/:id/${name}`]: { on, before },
    [`DELETE /${on}/:id/${name}`]: { on, before },
  };
};
const edgeModule = (name: keyof typeof MODULES) => part('edges/tcp', name, MODULES[name]);
const sources = () => ({ cidrs: [`192.0.2.${next() % 256}`] });

const toAuditor = { method: 'PUT', body: () => ({ role: 'auditor' }) };

const BOT_ROLE: Record<string, ResourceSample> = {
  'PUT /bot_users/:id/role': { on: 'bot_users', body: toAuditor.body },
  'GET /bot_users/:id/role': { on: 'bot_users', before: toAuditor },
  'DELETE /bot_users/:id/role': { on: 'bot_users', before: toAuditor },
};

/** A key that gateways may ask about. */
async function uploaded({ service, admin }: Walk): Promise<{ readonly id: string; readonly fingerprint: string }> {
  const { body } = await admin.client.post('/ssh_credentials', { public_key: newPublicKey() });
  const { rows } = await service.pool.query('select id, fingerprint from ssh_credentials where id = $1', [body.id]);
  return rows[0];
}
const fingerprint = async (walk: Walk) => ({ fingerprint: (await uploaded(walk)).fingerprint });

/** The hostport of a new edge, which names a policy with a rule and a tunnel group. */
async function listed({ service: { gateway }, admin: { client } }: Walk): Promise<string> {
  const rule = (await client.post('/ip_policy_rules', await MAKERS.ip_policy_rules(client))).body;
  const group = (await client.post('/backends/tunnel_group', MAKERS['backends/tunnel_group']())).body;
  const edge = {
    ...MAKERS['edges/tcp'](),
    backend: { backend_id: group.id },
    ip_restriction: { ip_policy_ids: [rule.ip_policy.id] },
  };
  const [hostport] = (await client.post('/edges/tcp', edge)).body.hostports;
  // A question with a source runs other statements.
  await gateway.get(`/ssh_gateway/edges?${new URLSearchParams({ hostport, source: '192.0.2.7' })}`);
  return hostport;
}

/** The host of a listed hostport. For a gateway of one account the service runs another statement. */
async function hostWithPorts(walk: Walk): Promise<string> {
  const hostport = await listed(walk);
  const host = hostport.slice(0, hostport.lastIndexOf(':'));
  await new EdgePorts(walk.service.pool).list(host, walk.admin.accountId);
  return host;
}

const NOBODY = new ApiClient('http://127.0.0.1', '');

const GATEWAY_SAMPLES: Record<string, Sample> = {
  'POST /ssh_gateway/identify': { body: fingerprint },
  'POST /ssh_gateway/authorize': {
    body: async (walk) => ({ ...(await fingerprint(walk)), target: { domain: 'a.example' } }),
  },
  'POST /ssh_gateway/recheck': { body: async (walk) => [{ credential_id: (await uploaded(walk)).id, version: 1 }] },
  'GET /ssh_gateway/authorized_keys': {
    query: async (walk) => ({ type: 'ssh-ed25519', ...(await fingerprint(walk)) }),
  },
  'GET /ssh_gateway/edges': { query: async (walk) => ({ hostport: await listed(walk) }) },
  'POST /ssh_gateway/edges': { body: async (walk) => ({ hostports: [await listed(walk)] }) },
  'GET /ssh_gateway/edges/ports': { query: async (walk) => ({ host: await hostWithPorts(walk) }) },
  'GET /ssh_gateway/edges/changes': {},
  'POST /ssh_gateway/sessions': {
    body: async (walk) => ({
      ...{ gateway_id: new ReportingGateway(NOBODY).id, report: 1 },
      edge_connections: [await carriedConnection(walk)],
    }),
  },
  'GET /ssh_gateway/metrics': {},
  'GET /ssh_gateway/changes': {},
};

/** A connection to a new edge, which a session of a new credential carried. */
async function carriedConnection(walk: Walk): Promise<object> {
  const { accountId, client } = walk.admin;
  const session = newSession({ accountId, id: (await uploaded(walk)).id });
  const { id: edge_id, hostports } = (await client.post('/edges/tcp', MAKERS['edges/tcp']())).body;
  return {
    ...{ account_id: accountId, edge_id, hostport: hostports[0], session_id: session.id },
    ...{ tunnel_id: newTunnel(session).id, credential_id: session.credential_id, ago_ms: 0, ms: 1, reason: 'closed' },
  };
}

/** An open session of a new credential, and its tunnel. */
async function openSession(walk: Walk): Promise<{ readonly session: string; readonly tunnel: string }> {
  const { id } = await uploaded(walk);
  const session = newSession({ accountId: walk.admin.accountId, id });
  const tunnel = newTunnel(session);
  await new ReportingGateway(walk.service.gateway).whole({ sessions: [session], tunnels: [tunnel] });
  return { session: session.id, tunnel: tunnel.id };
}
const sessionId = async (walk: Walk): Promise<string> => (await openSession(walk)).session;

const SESSION_SAMPLES: Record<string, Sample> = {
  'GET /tunnel_sessions': {},
  'GET /tunnel_sessions/changes': {},
  'GET /tunnel_sessions/:id': { made: sessionId },
  'POST /tunnel_sessions/:id/stop': { made: sessionId },
  'POST /tunnel_sessions/:id/restart': { made: sessionId },
  'GET /tunnels': {},
  'GET /tunnels/:id': { made: async (walk) => (await openSession(walk)).tunnel },
};

const target = () => ({ target: { domain: 'a.example' } });

/** Calls of POST that change nothing. */
const CHECK_SAMPLES: Record<string, Sample> = {
  'POST /ssh_credentials/:id/check': { on: 'ssh_credentials', body: target },
  'POST /edges/tcp/:id/check': { on: 'edges/tcp', body: () => ({ source: '192.0.2.7' }) },
  'POST /traffic_policy/check': { body: () => ({ value: '{}', source: '192.0.2.7' }) },
  'POST /acl/check': { body: () => ({ acl: ['bind:a.example'], ...target() }) },
};

export const RESOURCE_SAMPLES: Record<string, ResourceSample> = {
  ...resource('ssh_credentials', () => ({ description: `walked ${next()}` })),
  ...resource('edges/tcp', () => ({ description: `walked ${next()}` })),
  ...resource('users', () => ({ active: false })),
  ...resource('bot_users', () => ({ name: `renamed ${next()}` })),
  ...resource('service_users', () => ({ name: `renamed ${next()}` })),
  ...resource('api_keys', () => ({ description: `walked ${next()}` })),
  ...resource('ip_policies', () => ({ description: `walked ${next()}` })),
  ...resource('ip_policy_rules', () => ({ description: `walked ${next()}` })),
  ...resource('reserved_addrs', () => ({ description: `walked ${next()}` })),
  ...resource('reserved_domains', () => ({ description: `walked ${next()}` })),
  ...resource('backends/tunnel_group', () => ({ labels: { walked: `${next()}` } })),
  ...withoutPatch(resource('enrollment_keys', () => ({}))),
  'POST /enroll': {
    byEnrollmentKey: true,
    body: () => ({ name: `device-${next()}`, public_key: newPublicKey() }),
  },
  'POST /ssh_credentials/:id/rotate': {
    on: 'ssh_credentials',
    body: () => ({ public_key: newPublicKey(), overlap_seconds: 60 }),
  },
  ...part('ssh_credentials', 'expiry', expiry),
  ...part('ssh_credentials', 'source_restriction', sources),
  ...part('api_keys', 'expiry', expiry),
  ...BOT_ROLE,
  ...edgeModule('backend'),
  ...edgeModule('ip_restriction'),
  ...edgeModule('traffic_policy'),
  'DELETE /edges/tcp/:id/expiry': { on: 'edges/tcp' },
};

/** The checkpoint key that the service under test must be started with. */
export const CHECKPOINTS = { checkpointKeys: new KeyHistory(newCheckpointKey('walked.example')) };

/** Waits until the log has a checkpoint. */
export async function sealed({ admin }: Walk): Promise<Record<string, never>> {
  for (let attempt = 0; attempt < 400; attempt += 1) {
    if ((await admin.client.get('/log/checkpoint')).status === 200) return {};
    await sleep(25);
  }
  throw new Error('the log had no checkpoint within 10 s');
}

const EVIDENCE_SAMPLES: Record<string, Sample> = {
  'GET /log/key': {},
  'GET /log/checkpoint': { query: sealed },
  'GET /log/tile/*': { query: sealed, rest: '0/000.p/1' },
  'GET /log/export': { query: async () => ({ limit: '5' }) },
  'GET /log/records': { query: async () => ({ from: '2026-01-01T00:00:00Z', to: '2026-01-01T01:00:00Z' }) },
  'GET /log/proof': { query: async (walk) => ({ ...(await sealed(walk)), position: '1' }) },
  'GET /log/consistency': { query: async (walk) => ({ ...(await sealed(walk)), from: '1', to: '1' }) },
};

const asSamples = (samples: Record<string, ResourceSample>): Record<string, Sample> =>
  Object.fromEntries(
    Object.entries(samples).map(([route, { body, ...sample }]) => [
      route,
      { ...sample, ...(body !== undefined && { body: ({ admin }: Walk) => body(admin.client) }) },
    ]),
  );

/** A successful call of every route. `routes.spec.ts` fails if a route is missing here. */
export const SAMPLES: Record<string, Sample> = {
  ...GATEWAY_SAMPLES,
  'GET /bind_decisions': {},
  'GET /tunnel_session_records': {},
  'GET /edge_connection_records': {},
  'GET /ssh_credentials/:id/usage': { on: 'ssh_credentials' },
  ...asSamples(RESOURCE_SAMPLES),
  ...SESSION_SAMPLES,
  ...CHECK_SAMPLES,
  'GET /events': {},
  'GET /caller': {},
  ...EVIDENCE_SAMPLES,
};

/** The route's path with the id of a new resource of the admin's account, and the call on it. */
export async function prepareSample(
  walk: Walk,
  route: string,
): Promise<{ path: string; call: (client: ApiClient) => Promise<Answer> }> {
  const { admin } = walk;
  const { on, made: make, body, before, query, rest = '', byEnrollmentKey } = SAMPLES[route] ?? {};
  const [method = '', pattern = ''] = route.split(' ');
  const created =
    on === undefined ? undefined : (await admin.client.post(`/${on}`, await MAKERS[on](admin.client))).body;
  const id = (await make?.(walk)) ?? created?.id;
  const parameters = new URLSearchParams(await query?.(walk)).toString();
  const path = pattern.replace(':id', id).replace('*', rest) + (parameters === '' ? '' : `?${parameters}`);
  if (before !== undefined) await admin.client.json(before.method, path, before.body());
  const sent = body === undefined ? undefined : JSON.stringify(await body(walk));
  const headers = { 'content-type': 'application/json', 'user-agent': 'walker/1.0' };
  const { body: key } =
    byEnrollmentKey === true
      ? await admin.client.post('/enrollment_keys', MAKERS.enrollment_keys())
      : { body: undefined };
  const keyed = key && { ...headers, authorization: `Bearer ${key.token}` };
  const of = (client: ApiClient) => (keyed !== undefined && client.token === admin.client.token ? keyed : headers);
  return { path, call: (client) => client.send(method, path, sent, of(client)) };
}

export const changesNothing = (route: string): boolean =>
  route.startsWith('GET ') || route in GATEWAY_SAMPLES || route in CHECK_SAMPLES;
export const isForGateways = (route: string): boolean => route in GATEWAY_SAMPLES;
export const callerOf = ({ service, admin }: Walk, route: string): ApiClient =>
  isForGateways(route) ? service.gateway : admin.client;
