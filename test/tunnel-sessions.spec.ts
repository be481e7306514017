import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { IdSource } from '../src/kernel/ids.js';
import type { ApiClient } from './support/api-client.js';
import { eventually } from './support/eventually.js';
import { addAccount, addUser, type TestPrincipal } from './support/principals.js';
import { GATEWAY, GATEWAY_TOKEN, type Service, startCopy, startService } from './support/service.js';
import {
  credentialOf,
  endOf,
  newSession,
  newTunnel,
  type OwnCredential,
  pretendWatching,
  ReportingGateway,
} from './support/session-reports.js';

const TOKEN_OF_ACCOUNT = 'token-of-one-account-0123456789';

let service: Service;
let tenant: TestPrincipal;
let credential: OwnCredential;
let gateway: ReportingGateway;
const ids = new IdSource();

beforeAll(async () => {
  service = await startService({
    gatewayTokens: [{ token: GATEWAY_TOKEN }, { token: TOKEN_OF_ACCOUNT, accountId: 'ac_none' }],
  });
});
afterAll(() => service.stop());
beforeEach(async () => {
  tenant = await addAccount(service);
  credential = await credentialOf(service, tenant);
  gateway = new ReportingGateway(service.gateway);
});

const open = async (client: ApiClient = tenant.client, query = '') =>
  (await client.get(`/tunnel_sessions${query}`)).body.tunnel_sessions as { id: string }[];
const idsOf = (items: readonly { readonly id: string }[]) => items.map(({ id }) => id);
const records = async () => {
  const { rows } = await service.pool.query(
    'select session_id, reason, bytes_in::int, bytes_out::int from tunnel_session_records where account_id = $1 order by id',
    [tenant.accountId],
  );
  return rows;
};

describe('a report of a gateway', () => {
  it('shows an open session with its credential, owner, source, client and tunnels, and each tunnel', async () => {
    const session = newSession(credential, { ago_ms: 5_000 });
    const tunnel = newTunnel(session);
    const labels = newTunnel(session, { targets: [{ label: { key: 'app', value: 'build' } }] });
    const answer = await gateway.whole({ sessions: [session], tunnels: [tunnel, labels] });
    expect([answer.status, answer.body]).toEqual([200, { counted: true, ignored: [], send_whole: false, stops: [] }]);
    const { body } = await tenant.client.get(`/tunnel_sessions/${session.id}`);
    const { url } = service.app;
    const ref = (path: string, id: string) => ({ id, uri: `${url}/${path}/${id}` });
    expect(body).toMatchObject({
      ...ref('tunnel_sessions', session.id),
      credential: ref('ssh_credentials', credential.id),
      ...{ owner_id: tenant.id, ip: '203.0.113.9', agent_version: 'SSH-2.0-OpenSSH_9.2', gateway_id: gateway.id },
      ...{ bytes_in: null, transport: 'ssh' },
      tunnels: [
        { ...ref('tunnels', labels.id), targets: labels.targets },
        { ...ref('tunnels', tunnel.id), targets: tunnel.targets },
      ],
    });
    expect(Date.now() - Date.parse(body.started_at)).toBeGreaterThan(4_000);
    expect(await open()).toEqual([body]);
    const { body: page } = await tenant.client.get('/tunnels');
    expect(page.tunnels).toMatchObject([
      { id: labels.id, labels: { app: 'build' }, public_url: '', proto: '' },
      { id: tunnel.id, public_url: 'tcp://1.tcp.example.com:20000', proto: 'tcp', labels: {} },
    ]);
    expect((await tenant.client.get(`/tunnels/${tunnel.id}`)).body).toEqual(page.tunnels[1]);
    expect(page.tunnels[1].tunnel_session).toEqual(ref('tunnel_sessions', session.id));
  });

  it('that is sent again counts once, and so does one that comes out of order', async () => {
    const session = newSession(credential);
    await gateway.sendAs(5, { sessions: [session] });
    expect((await gateway.sendAs(5, { sessions: [newSession(credential)] })).body).toMatchObject({ counted: false });
    const end = { ended_sessions: [endOf(session)] };
    expect((await gateway.sendAs(4, end)).body.counted).toBe(false);
    expect(idsOf(await open())).toEqual([session.id]);
    expect((await gateway.sendAs(6, end)).body.counted).toBe(true);
    expect((await gateway.sendAs(6, end)).body.counted).toBe(false);
    expect(await records()).toEqual([{ session_id: session.id, reason: 'client', bytes_in: 10, bytes_out: 20 }]);
  });

  it('may open and end a session at once, and records its tunnels with it', async () => {
    const session = newSession(credential);
    const tunnel = newTunnel(session);
    await gateway.send({
      sessions: [session],
      tunnels: [tunnel],
      ended_sessions: [endOf(session, { reason: 'lost' })],
    });
    expect(await open()).toEqual([]);
    expect(await records()).toMatchObject([{ session_id: session.id, reason: 'lost' }]);
    const { rows } = await service.pool.query('select session_id, reason from tunnel_records where tunnel_id = $1', [
      tunnel.id,
    ]);
    expect(rows).toEqual([{ session_id: session.id, reason: 'lost' }]);
  });

  it('says what does not count: unknown ids and times of the future, but counts the rest', async () => {
    const [session, future] = [newSession(credential), newSession(credential, { ago_ms: -1_000 })];
    const unknown = newSession({ ...credential, id: ids.next('sshcr') });
    const orphan = newTunnel(unknown);
    const gone = endOf({ id: ids.next('ts'), account_id: tenant.accountId });
    const { body } = await gateway.send({
      sessions: [session, future, unknown],
      tunnels: [orphan],
      ended_sessions: [gone],
      edge_connections: [
        {
          ...{ account_id: tenant.accountId, edge_id: ids.next('edgtcp'), hostport: '1.tcp.example.com:20000' },
          ...{ ago_ms: 0, ms: 10, reason: 'closed' },
        },
      ],
    });
    expect(body.counted).toBe(true);
    expect(body.ignored).toEqual([
      { id: future.id, reason: 'in_future' },
      { id: unknown.id, reason: 'unknown_credential' },
      { id: orphan.id, reason: 'unknown_session' },
      { id: gone.id, reason: 'unknown_session' },
      { id: expect.stringMatching(/^edgtcp_/), reason: 'unknown_edge' },
    ]);
    expect(idsOf(await open())).toEqual([session.id]);
  });

  it('records a connection through an edge', async () => {
    const edge = (await tenant.client.post('/edges/tcp', { hostports: ['edge.example.test:4000'] })).body;
    const connection = {
      ...{
        account_id: tenant.accountId,
        edge_id: edge.id,
        hostport: 'edge.example.test:4000',
        client: '192.0.2.7:5000',
      },
      ...{ ago_ms: 1_000, ms: 2_000, bytes_in: 5, bytes_out: 6, reason: 'closed' },
    };
    expect((await gateway.send({ edge_connections: [connection] })).body.ignored).toEqual([]);
    const { rows } = await service.pool.query(
      `select client, bytes_in::int, bytes_out::int, round(extract(epoch from ended_at - started_at))::int as seconds
       from edge_connection_records where edge_id = $1`,
      [edge.id],
    );
    expect(rows).toEqual([{ client: '192.0.2.7:5000', bytes_in: 5, bytes_out: 6, seconds: 2 }]);
  });

  it('keeps of a connection no id of what is open in another account, told at another instance, but what has ended', async () => {
    const other = await addAccount(service);
    const [own, foreign] = [newSession(credential), newSession(await credentialOf(service, other))];
    const [ownTunnel, foreignTunnel] = [newTunnel(own), newTunnel(foreign)];
    const copy = await startCopy(service, GATEWAY);
    const elsewhere = new ReportingGateway(copy.gateway);
    await gateway.send({ sessions: [own], tunnels: [ownTunnel] });
    // The other account claims to have the same session and tunnel.
    const claimed = { account_id: other.accountId, credential_id: foreign.credential_id };
    await elsewhere.send({
      sessions: [foreign, { ...own, ...claimed }],
      tunnels: [foreignTunnel, { ...ownTunnel, ...claimed }],
    });
    const edge = (await tenant.client.post('/edges/tcp', { hostports: ['edge.example.test:4001'] })).body;
    const record = async (session: typeof own, tunnel: typeof ownTunnel, ends: object = {}) => {
      const ids = { session_id: session.id, tunnel_id: tunnel.id, credential_id: session.credential_id };
      const at = { account_id: tenant.accountId, edge_id: edge.id, hostport: 'edge.example.test:4001' };
      const { body } = await gateway.send({
        ...ends,
        edge_connections: [{ ...at, ...ids, ago_ms: 0, ms: 1, reason: 'closed' }],
      });
      const [kept] = (await tenant.client.get(`/edge_connection_records?edge_id=${edge.id}`)).body
        .edge_connection_records;
      return { isKept: [kept.session_id, kept.tunnel_id, kept.credential_id].map((id) => id !== null), ...body };
    };
    const [all, none] = [
      { isKept: [true, true, true], ignored: [] },
      {
        isKept: [false, false, false],
        ignored: [
          { id: foreign.id, reason: 'unknown_session' },
          { id: foreignTunnel.id, reason: 'unknown_tunnel' },
          { id: foreign.credential_id, reason: 'unknown_credential' },
        ],
      },
    ];
    expect(await record(own, ownTunnel)).toMatchObject(all);
    expect(await record(foreign, foreignTunnel)).toMatchObject(none);
    const ends = { ended_tunnels: [endOf(ownTunnel)], ended_sessions: [endOf(own)] };
    expect(await record(own, ownTunnel, ends)).toMatchObject(all);
    await elsewhere.send({ ended_tunnels: [endOf(foreignTunnel)], ended_sessions: [endOf(foreign)] });
    await other.client.delete(`/ssh_credentials/${foreign.credential_id}`);
    expect(await record(foreign, foreignTunnel)).toMatchObject(all);
    await copy.stop();
  });

  it('of a gateway of one account about another account is refused with 403, and stores nothing', async () => {
    const other = new ReportingGateway(service.gateway.as(TOKEN_OF_ACCOUNT));
    const { status, body } = await other.send({ sessions: [newSession(credential)] });
    expect([status, body.error_code, body.details.item]).toEqual([403, 'ERR_TAS_403', 'sessions[0]']);
    expect(await open()).toEqual([]);
    expect((await service.pool.query('select from gateway_runs where id = $1', [other.id])).rows).toEqual([]);
  });

  it('under the gateway_id of another token is refused with 403', async () => {
    await gateway.send();
    const { status } = await service.gateway
      .as(TOKEN_OF_ACCOUNT)
      .post('/ssh_gateway/sessions', { gateway_id: gateway.id, report: 2 });
    expect(status).toBe(403);
  });

  it('that is malformed is refused with the field, and stores nothing', async () => {
    const session = newSession(credential);
    for (const [body, named] of [
      [{ sessions: [{ ...session, id: 'x' }] }, 'sessions[0].id'],
      [{ sessions: [session, { ...session, source: 'x'.repeat(256) }] }, 'sessions[1].source'],
      [{ sessions: [{ ...session, acount_id: 'x' }] }, 'sessions[0].acount_id'],
      [{ sessions: [{ ...session, credential_id: undefined }] }, 'sessions[0].credential_id'],
      [{ sessions: [session, session, { ...session, client: 'a\0' }] }, 'sessions[2].client'],
      [{ sessions: Array.from({ length: 1_001 }, () => session) }, 'sessions'],
      [{ tunnels: [newTunnel(session, { targets: [{ address: 'x' }] })] }, 'tunnels[0].targets[0]'],
      [{ ended_sessions: [endOf(session, { reason: 'No!' })] }, 'ended_sessions[0].reason'],
      [{ ended_sessions: [endOf(session, { bytes_in: -1 })] }, 'ended_sessions[0].bytes_in'],
      [{ whole_since: 9 }, 'whole_since'],
    ] as const) {
      const answer = await gateway.sendAs(1, { sessions: [session], ...body });
      expect([named, answer.status, answer.body.msg]).toEqual([named, 400, expect.stringContaining(named)]);
      // What a gateway leaves out.
      expect([named, answer.body.details.item]).toEqual([named, /^\w+\[\d+\]/.exec(named)?.[0]]);
    }
    expect(await open()).toEqual([]);
  });

  it('counts what open sessions and tunnels carry', async () => {
    const session = newSession(credential);
    const tunnel = newTunnel(session);
    const used = { account_id: tenant.accountId, bytes_in: 7, bytes_out: 8, connections: 2 };
    await gateway.send({ sessions: [session], tunnels: [tunnel] });
    await gateway.send({ used: [session, tunnel].map(({ id }) => ({ ...used, id })) });
    const numbers = { bytes_in: 7, bytes_out: 8, connections: 2 };
    expect(await open()).toMatchObject([numbers]);
    expect((await tenant.client.get('/tunnels')).body.tunnels).toMatchObject([numbers]);
  });
});

describe('a whole state', () => {
  it('ends what it does not name, over several reports, and keeps what opened meanwhile', async () => {
    const [kept, ghost, opened] = [newSession(credential), newSession(credential), newSession(credential)];
    const [keptTunnel, ghostTunnel] = [newTunnel(kept), newTunnel(kept)];
    await gateway.whole({ sessions: [kept, ghost], tunnels: [keptTunnel, ghostTunnel] });
    await gateway.sendAs(2, { sessions: [kept] });
    await gateway.sendAs(3, { sessions: [opened] });
    expect(await open()).toHaveLength(3);
    await gateway.sendAs(4, { tunnels: [keptTunnel], whole_since: 2 });
    expect(idsOf(await open()).sort()).toEqual([kept.id, opened.id].sort());
    expect((await tenant.client.get('/tunnels')).body.tunnels).toMatchObject([{ id: keptTunnel.id }]);
    expect(await records()).toMatchObject([{ session_id: ghost.id, reason: 'lost' }]);
  });

  it('is asked for until the service has one', async () => {
    expect((await gateway.send()).body.send_whole).toBe(true);
    expect((await gateway.send()).body.send_whole).toBe(true);
    expect((await gateway.whole()).body.send_whole).toBe(false);
    expect((await gateway.send()).body.send_whole).toBe(false);
  });

  it('does not count if the service forgot its begin', async () => {
    await gateway.sendAs(1, {});
    await service.pool.query('delete from gateway_runs where id = $1', [gateway.id]);
    const session = newSession(credential);
    await gateway.sendAs(2, { sessions: [session] });
    expect((await gateway.sendAs(3, { whole_since: 1 })).body).toMatchObject({ counted: true, send_whole: true });
    expect(idsOf(await open())).toEqual([session.id]);
  });
});

describe('a gateway that is silent for 15 s', () => {
  const silence = (seconds: number) =>
    service.pool.query(`update gateway_runs set heard_at = now() - $2 * interval '1 second' where id = $1`, [
      gateway.id,
      seconds,
    ]);

  it('loses its sessions at the time of its last report; they are open again when it reports them again', async () => {
    const session = newSession(credential, { ago_ms: 60_000 });
    await gateway.whole({ sessions: [session], tunnels: [newTunnel(session)] });
    await pretendWatching(service, 1_000);
    await silence(16);
    await eventually(async () => expect(await open()).toEqual([]));
    expect(await records()).toMatchObject([{ session_id: session.id, reason: 'gateway_lost' }]);
    const { rows } = await service.pool.query(
      'select extract(epoch from now() - ended_at)::float8 as ago from tunnel_session_records where session_id = $1',
      [session.id],
    );
    expect(rows[0].ago).toBeGreaterThan(15);
    // Its answer was lost on the way: the report comes again, and does not count twice.
    expect((await gateway.sendAs(1, { sessions: [session] })).body).toMatchObject({ counted: false, send_whole: true });
    expect(await open()).toEqual([]);
    expect((await gateway.send({ sessions: [session] })).body.send_whole).toBe(true);
    expect(idsOf(await open())).toEqual([session.id]);
    expect(await records()).toEqual([]);
    await gateway.whole();
    expect(await records()).toMatchObject([{ session_id: session.id, reason: 'lost' }]);
  });

  it('has them all again when it comes back while they are being ended', async () => {
    const session = newSession(credential);
    const tunnel = newTunnel(session);
    await gateway.whole({ sessions: [session], tunnels: [tunnel] });
    // The tunnel ends in a step of its own. The step of the session waits for this lock, until it is cancelled.
    const holder = await service.pool.connect();
    await holder.query('begin');
    const { rows } = await holder.query(
      'select pg_backend_pid() as pid from tunnel_sessions where id = $1 for update',
      [session.id],
    );
    await pretendWatching(service, 1_000);
    await silence(16);
    const waiting = 'select pid from pg_stat_activity where $1 = any(pg_blocking_pids(pid))';
    const blocked = async () => (await service.pool.query(waiting, [rows[0].pid])).rows;
    await eventually(async () => expect(await blocked()).toHaveLength(1));
    const answer = gateway.send();
    await eventually(async () => {
      const [{ pid }] = await blocked();
      expect((await service.pool.query(waiting, [pid])).rows).toHaveLength(1);
      await service.pool.query('select pg_cancel_backend($1)', [pid]);
    });
    expect((await answer).body).toMatchObject({ counted: true, send_whole: true });
    await holder.query('rollback');
    holder.release();
    await gateway.whole({ sessions: [session], tunnels: [tunnel] });
    expect((await open())[0]).toMatchObject({ id: session.id, tunnels: [{ id: tunnel.id }] });
    await gateway.send({ ended_tunnels: [endOf(tunnel)], ended_sessions: [endOf(session)] });
    const { body } = await tenant.client.get('/tunnel_session_records');
    expect(body.tunnel_session_records).toMatchObject([{ tunnels: [{ id: tunnel.id, reason: 'client' }] }]);
    expect(body.tunnel_session_records[0].tunnels).toHaveLength(1);
  });

  it('keeps them while the service itself was away, for the grace of an outage', async () => {
    const session = newSession(credential);
    await gateway.whole({ sessions: [session] });
    await pretendWatching(service, 10);
    await silence(100);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(idsOf(await open())).toEqual([session.id]);
    await pretendWatching(service, 301);
    await eventually(async () => expect(await open()).toEqual([]));
  });
});

describe('the list of sessions', () => {
  it('has pages, newest first, and filters by credential and owner', async () => {
    const user = await addUser(service, 'member', tenant.client);
    const own = await credentialOf(service, user);
    const sessions = Array.from({ length: 5 }, () => newSession(credential));
    const others = Array.from({ length: 3 }, () => newSession(own));
    await gateway.send({
      sessions: [...sessions, ...others],
      tunnels: [...sessions, ...others].map((one) => newTunnel(one)),
    });
    const newest = (some: readonly { id: string }[]) => idsOf(some).sort().reverse();
    expect(idsOf(await open())).toEqual(newest([...sessions, ...others]));
    const first = (await tenant.client.get(`/tunnel_sessions?limit=3&credential_id=${credential.id}`)).body;
    expect(idsOf(first.tunnel_sessions)).toEqual(newest(sessions).slice(0, 3));
    const next = await tenant.client.get(first.next_page_uri.slice(service.app.url.length));
    expect(idsOf(next.body.tunnel_sessions)).toEqual(newest(sessions).slice(3));
    expect(idsOf(await open(tenant.client, `?owner_id=${user.id}`))).toEqual(newest(others));
    expect(await open(tenant.client, `?owner_id=${user.id}&credential_id=${credential.id}`)).toEqual([]);
    const { tunnels } = (await tenant.client.get(`/tunnels?owner_id=${user.id}`)).body;
    expect(tunnels).toHaveLength(3);
    expect((await tenant.client.get('/tunnel_sessions?credential_id=x')).status).toBe(400);
  });

  it('shows members what is of their credentials, auditors all, and other accounts nothing', async () => {
    const member = await addUser(service, 'member', tenant.client);
    const auditor = await addUser(service, 'auditor', tenant.client);
    const stranger = await addAccount(service);
    const [own, other] = [newSession(await credentialOf(service, member)), newSession(credential)];
    const tunnel = newTunnel(other);
    await gateway.send({ sessions: [own, other], tunnels: [tunnel] });
    expect(idsOf(await open(member.client))).toEqual([own.id]);
    expect(await open(member.client, `?owner_id=${tenant.id}`)).toEqual([]);
    expect(await open(auditor.client)).toHaveLength(2);
    expect(await open(stranger.client)).toEqual([]);
    for (const path of [`/tunnel_sessions/${other.id}`, `/tunnels/${tunnel.id}`]) {
      for (const [{ client }, status] of [
        [member, 404],
        [stranger, 404],
        [auditor, 200],
      ] as const) {
        expect([path, (await client.get(path)).status]).toEqual([path, status]);
      }
    }
  });
});

describe('a tunnel group', () => {
  it('has the open tunnels with all of its labels, which change its ETag and no If-Match', async () => {
    const member = await addUser(service, 'member', tenant.client);
    const group = (await tenant.client.post('/backends/tunnel_group', { labels: { app: 'build', dc: 'x' } })).body;
    const none = (await tenant.client.post('/backends/tunnel_group', { labels: {} })).body;
    const path = `/backends/tunnel_group/${group.id}`;
    const before = await tenant.client.get(path);
    expect([before.body.tunnels, before.headers.get('etag')]).toEqual([[], '"1"']);
    const session = newSession(credential);
    const labels = (...pairs: [string, string][]) => pairs.map(([key, value]) => ({ label: { key, value } }));
    const both = newTunnel(session, { targets: labels(['dc', 'x'], ['app', 'build'], ['more', 'm']) });
    const one = newTunnel(session, { targets: labels(['app', 'build']) });
    await gateway.send({ sessions: [session], tunnels: [both, one, newTunnel(session)] });
    const { body, headers } = await tenant.client.get(path);
    const refs = [{ id: both.id, uri: `${service.app.url}/tunnels/${both.id}` }];
    expect(body).toEqual({ ...before.body, tunnels: refs });
    const { backends } = (await tenant.client.get('/backends/tunnel_group')).body;
    expect(backends).toEqual([{ ...none, tunnels: [] }, body]);
    expect((await member.client.get(path)).body.tunnels).toEqual([]);
    const etag = headers.get('etag') ?? '';
    expect(etag).toMatch(/^"1;[0-9a-f]{16}"$/);
    const same = await tenant.client.send('GET', path, undefined, { 'if-none-match': etag });
    expect(same.status).toBe(304);
    await gateway.send({ ended_tunnels: [endOf(both)] });
    expect((await tenant.client.send('GET', path, undefined, { 'if-none-match': etag })).body.tunnels).toEqual([]);
    const patch = await tenant.client.send('PATCH', path, JSON.stringify(body), { 'if-match': etag });
    expect([patch.status, patch.body.tunnels]).toEqual([200, []]);
  });
});

describe('a stop', () => {
  it('is an event with its actor, reaches the gateway with its next whole state, and may be sent again', async () => {
    const session = newSession(credential);
    await gateway.whole({ sessions: [session] });
    const path = `/tunnel_sessions/${session.id}`;
    expect((await tenant.client.post(`${path}/restart`, undefined)).status).toBe(204);
    for (const verb of ['stop', 'restart']) {
      const stale = await tenant.client.post(`${path}/${verb}`, undefined, { 'if-match': '"77"' });
      expect(stale.status).toBe(412);
    }
    expect((await tenant.client.post(`${path}/stop`, undefined)).status).toBe(204);
    const again = await tenant.client.post(`${path}/stop`, undefined);
    expect([again.status, again.body]).toEqual([204, undefined]);
    const { events } = (await tenant.client.get('/events?type=tunnel_session_stopped.v1')).body;
    expect(events).toMatchObject([
      { subject: session.id, actor: tenant.id, data: { restart: true, credential_id: credential.id } },
      { subject: session.id, actor: tenant.id, data: { restart: false, credential_id: credential.id } },
    ]);
    const { stops } = (await gateway.whole({ sessions: [session] })).body;
    const { account_id } = session;
    expect(stops).toEqual([{ account_id, session_id: session.id, restart: false, by: expect.any(String) }]);
  });

  it('is for the owner and admins, and of an open session only', async () => {
    const member = await addUser(service, 'member', tenant.client);
    const auditor = await addUser(service, 'auditor', tenant.client);
    const [own, other] = [newSession(await credentialOf(service, member)), newSession(credential)];
    await gateway.send({ sessions: [own, other] });
    const stop = async ({ client }: TestPrincipal, id: string) =>
      (await client.post(`/tunnel_sessions/${id}/stop`, undefined)).status;
    expect(await stop(member, other.id)).toBe(404);
    expect(await stop(auditor, other.id)).toBe(403);
    expect(await stop(member, own.id)).toBe(204);
    expect(await stop(await addAccount(service), other.id)).toBe(404);
    await gateway.send({ ended_sessions: [endOf(own)] });
    expect(await stop(member, own.id)).toBe(404);
    for (const id of ['x', credential.id, ids.next('ts')]) expect(await stop(tenant, id)).toBe(404);
  });
});
