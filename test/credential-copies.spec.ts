import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newPublicKey } from './support/keys.js';
import { addAccount, addUser, type TestPrincipal } from './support/principals.js';
import { refusalsOf } from './support/refusals.js';
import { GATEWAY, type Service, startService } from './support/service.js';
import { credentialOf, newSession, ReportingGateway } from './support/session-reports.js';

/** What a copy of a credential keeps, and what `include` adds. */
let service: Service;
let tenant: TestPrincipal;

beforeAll(async () => {
  service = await startService(GATEWAY);
});
afterAll(() => service.stop());
beforeEach(async () => {
  tenant = await addAccount(service);
});

const { eventCount, expectRefusal } = refusalsOf(() => service);

const PUBLIC_FIELDS = ['id', 'uri', 'created_at', 'description', 'metadata', 'public_key', 'acl', 'owner_id'];
const LIMITS = { expires_at: '2099-12-31T23:59:59.999Z', source_cidrs: ['192.0.2.0/24', '2001:db8::/32'] };
const create = async (body: object = {}) =>
  (await tenant.client.post('/ssh_credentials', { public_key: newPublicKey(), ...body })).body;
const list = async (query = '') => (await tenant.client.get(`/ssh_credentials?${query}`)).body.ssh_credentials;

describe('expiry and source restriction of a credential', () => {
  it('stand in GET, in lists and as of a moment where they are set, and a credential without them has the public fields', async () => {
    const [plain, limited] = [await create(), await create(LIMITS)];
    const set = await tenant.client.put(`/ssh_credentials/${plain.id}/expiry`, { expires_at: LIMITS.expires_at });
    await tenant.client.delete(`/ssh_credentials/${plain.id}/expiry`);
    const listed = await list();
    expect(listed).toEqual([limited, plain]);
    expect(Object.keys(listed[1])).toEqual(PUBLIC_FIELDS);
    expect(listed[0]).toMatchObject(LIMITS);
    const asOf = `as_of=${set.headers.get('log-position')}`;
    const then = { ...plain, expires_at: LIMITS.expires_at };
    expect((await tenant.client.get(`/ssh_credentials/${plain.id}?${asOf}`)).body).toEqual(then);
    expect(await list(asOf)).toEqual([limited, then]);
  });

  it('may be sent back by PATCH with their values, and no others', async () => {
    const credential = await create(LIMITS);
    const uri = `/ssh_credentials/${credential.id}`;
    const edited = { ...credential, description: 'desk' };
    expect(await tenant.client.patch(uri, edited)).toMatchObject({ status: 200, body: edited });
    const before = await eventCount();
    expect((await tenant.client.patch(uri, { ...LIMITS, expires_at: '2100-01-01T00:59:59.999+01:00' })).status).toBe(
      200,
    );
    expect((await tenant.client.patch(uri, { expires_at: null, source_cidrs: null })).body).toEqual(edited);
    for (const [body, message] of [
      [
        { expires_at: '2098-01-01T00:00:00Z' },
        /^expires_at is read-only.* Change it by PUT \/ssh_credentials\/\{id\}\/expiry\.$/,
      ],
      [{ source_cidrs: [] }, /^source_cidrs is read-only.* by PUT \/ssh_credentials\/\{id\}\/source_restriction\.$/],
      [{ source_cidrs: ['192.0.2.0/24'] }, /^source_cidrs is read-only/],
    ] as const)
      await expectRefusal(() => tenant.client.patch(uri, body), 400, 'ERR_TAS_400', message);
    const plain = await create();
    const given = () => tenant.client.patch(`/ssh_credentials/${plain.id}`, LIMITS);
    await expectRefusal(given, 400, 'ERR_TAS_400', /^expires_at is read-only/);
    expect(await eventCount()).toBe(before + 1);
  });
});

describe('include', () => {
  it('adds fingerprint and usage to GET and lists, and pages keep it', async () => {
    const [first, second] = [await credentialOf(service, tenant), await credentialOf(service, tenant)];
    await new ReportingGateway(service.gateway).whole({ sessions: [newSession(second)] });
    const uri = `/ssh_credentials/${second.id}`;
    const plain = (await tenant.client.get(uri)).body;
    const { id: _, ...usage } = (await tenant.client.get(`${uri}/usage`)).body;
    expect(usage).toMatchObject({ online: true, last_seen_at: expect.any(String) });
    const { rows } = await service.pool.query('select fingerprint from ssh_credentials where id = $1', [second.id]);
    const { fingerprint } = rows[0];
    expect((await tenant.client.get(`${uri}?include=fingerprint,usage`)).body).toEqual({
      ...plain,
      fingerprint,
      usage,
    });
    const page = (await tenant.client.get('/ssh_credentials?include=usage,fingerprint&limit=1')).body;
    expect(page.ssh_credentials).toEqual([{ ...plain, fingerprint, usage }]);
    const next = (await tenant.client.get(page.next_page_uri.slice(service.app.url.length))).body;
    expect(next.ssh_credentials).toMatchObject([
      { id: first.id, usage: { online: false, last_seen_at: null, last_used_at: null } },
    ]);
  });

  it('tells other members not who is there', async () => {
    const credential = await credentialOf(service, tenant);
    await new ReportingGateway(service.gateway).whole({ sessions: [newSession(credential)] });
    const member = await addUser(service, 'member', tenant.client);
    const usage = { online: null, last_seen_at: null, last_used_at: null };
    expect((await member.client.get(`/ssh_credentials/${credential.id}?include=usage`)).body.usage).toEqual(usage);
    expect((await member.client.get('/ssh_credentials?include=usage')).body.ssh_credentials).toMatchObject([{ usage }]);
  });

  it('of usage has no ETag, no 304 and no past; the fingerprint has all three', async () => {
    const { id } = await create();
    const uri = `/ssh_credentials/${id}?include=`;
    const now = await tenant.client.get(`${uri}usage`, { 'if-none-match': '*' });
    expect([now.status, now.headers.get('etag')]).toEqual([200, null]);
    for (const path of [`${uri}usage`, '/ssh_credentials?include=fingerprint,usage']) {
      const then = () => tenant.client.get(`${path}&as_of=2`);
      await expectRefusal(then, 400, 'ERR_TAS_400', /^include=usage is about now/);
    }
    const fixed = await tenant.client.get(`${uri}fingerprint`);
    expect(fixed.headers.get('etag')).toBe('"1"');
    expect((await tenant.client.get(`${uri}fingerprint`, { 'if-none-match': '"1"' })).status).toBe(304);
    const { body } = await tenant.client.get('/ssh_credentials?include=fingerprint&as_of=2');
    expect(Object.keys(body)).toContain('next_page_uri');
  });

  it('of another name is 400, and what it added is no field of a body', async () => {
    const { id } = await create();
    for (const uri of [`/ssh_credentials/${id}`, '/ssh_credentials'])
      for (const include of ['owner', 'usage,', 'Usage'])
        await expectRefusal(
          () => tenant.client.get(`${uri}?include=${include}`),
          400,
          'ERR_TAS_400',
          /^include '.*' is unknown; it takes fingerprint, usage\.$/,
        );
    const { body } = await tenant.client.get(`/ssh_credentials/${id}?include=fingerprint,usage`);
    const back = () => tenant.client.patch(`/ssh_credentials/${id}`, body);
    await expectRefusal(back, 400, 'ERR_NGROK_214', /`include`/);
  });
});
