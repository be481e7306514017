import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from './support/eventually.js';
import { addAccount, addUser, type TestPrincipal } from './support/principals.js';
import { GATEWAY, type Service, startService } from './support/service.js';
import {
  credentialOf,
  endOf,
  newSession,
  type OwnCredential,
  pretendWatching,
  ReportingGateway,
} from './support/session-reports.js';

let service: Service;
let tenant: TestPrincipal;
let gateway: ReportingGateway;

beforeAll(async () => {
  service = await startService(GATEWAY);
});
afterAll(() => service.stop());
beforeEach(async () => {
  tenant = await addAccount(service);
  gateway = new ReportingGateway(service.gateway);
});

const credentialsOf = async (count: number, owner = tenant): Promise<OwnCredential[]> => {
  const made: OwnCredential[] = [];
  for (let n = 0; n < count; n += 1) made.push(await credentialOf(service, owner));
  return made;
};
const list = async (query: string, { client } = tenant) => (await client.get(`/ssh_credentials?${query}`)).body;
const idsOf = (items: readonly { readonly id: string }[]) => items.map(({ id }) => id);
const found = async (query: string, by = tenant) => idsOf((await list(query, by)).ssh_credentials);
const newest = (some: readonly { readonly id: string }[]) => idsOf(some).sort().reverse();
const usage = async ({ id }: OwnCredential, { client } = tenant) => {
  const { online, last_seen_at } = (await client.get(`/ssh_credentials/${id}/usage`)).body;
  return { online, last_seen_at };
};
const soon = () => encodeURIComponent(new Date(Date.now() + 1_000).toISOString());
const before = (ms: number) => encodeURIComponent(new Date(Date.now() - ms).toISOString());

describe('credentials that are online', () => {
  it('are those with an open session; the others were last seen when the last one ended, or never', async () => {
    const [busy, left, never] = (await credentialsOf(3)) as [OwnCredential, OwnCredential, OwnCredential];
    const [one, two, gone] = [newSession(busy), newSession(busy), newSession(left)];
    await gateway.whole({ sessions: [one, two, gone] });
    expect(await found('online=true')).toEqual(newest([busy, left]));
    await gateway.send({ ended_sessions: [endOf(one), endOf(gone, { ago_ms: 500 })] });
    expect(await found('online=true')).toEqual([busy.id]);
    expect(await found('online=false')).toEqual(newest([left, never]));
    expect(await usage(never)).toEqual({ online: false, last_seen_at: null });
    expect(await usage(left)).toEqual({ online: false, last_seen_at: expect.any(String) });
    const { online, last_seen_at: seenAt } = await usage(busy);
    expect(online).toBe(true);
    const { rows } = await service.pool.query('select heard_at from gateway_runs where id = $1', [gateway.id]);
    expect(seenAt).toBe(rows[0].heard_at.toISOString());
  });

  it('may be sought with other filters and in pages, and by when they were last seen', async () => {
    const credentials = await credentialsOf(6);
    const [old, recent, online] = [credentials.slice(0, 2), credentials.slice(2, 4), credentials.slice(4)];
    const sessions = credentials.map((one) => newSession(one));
    await gateway.whole({ sessions });
    await gateway.send({ ended_sessions: sessions.slice(0, 4).map((one) => endOf(one)) });
    const past = `update credential_presence set last_seen_at = now() - interval '1 hour' where credential_id = any($1)`;
    await service.pool.query(past, [idsOf(old)]);
    expect(await found(`last_seen_before=${soon()}`)).toEqual(newest([...old, ...recent]));
    expect(await found(`last_seen_before=${before(1_800_000)}&online=false`)).toEqual(newest(old));
    expect(await found(`last_seen_before=${soon()}&online=true`)).toEqual([]);
    expect(await found(`online=true&owner_id=${tenant.id}`)).toEqual(newest(online));
    expect(await found('online=true&owner_id=none')).toEqual([]);
    for (const [query, all] of [
      ['online=false', [...old, ...recent]],
      [`last_seen_before=${soon()}`, [...old, ...recent]],
      ['online=true', online],
    ] as const) {
      const first = await list(`${query}&limit=1`);
      expect(first.next_page_uri).toContain('limit=1');
      const next = (await tenant.client.get(first.next_page_uri.slice(service.app.url.length))).body;
      expect([...idsOf(first.ssh_credentials), ...idsOf(next.ssh_credentials)]).toEqual(newest(all).slice(0, 2));
    }
  });

  it('are told to members of their own credentials only, as sessions are', async () => {
    const member = await addUser(service, 'member', tenant.client);
    const auditor = await addUser(service, 'auditor', tenant.client);
    const [[own], [other]] = [await credentialsOf(1, member), await credentialsOf(1)];
    if (own === undefined || other === undefined) throw new Error('two credentials were made');
    await gateway.whole({ sessions: [newSession(own), newSession(other)] });
    expect(await found('online=true', member)).toEqual([own.id]);
    expect(await found('online=false', member)).toEqual([]);
    expect(await found(`online=true&owner_id=${tenant.id}`, member)).toEqual([]);
    expect(await found('online=true', auditor)).toEqual(newest([own, other]));
    expect(await usage(other, member)).toEqual({ online: null, last_seen_at: null });
    expect(await usage(own, member)).toMatchObject({ online: true });
    expect(await found('online=true', await addAccount(service))).toEqual([]);
  });

  it('were last seen at the last report of a gateway that fell silent', async () => {
    const [credential] = (await credentialsOf(1)) as [OwnCredential];
    await gateway.whole({ sessions: [newSession(credential, { ago_ms: 60_000 })] });
    await pretendWatching(service, 1_000);
    const { rows } = await service.pool.query(
      `update gateway_runs set heard_at = now() - interval '20 seconds' where id = $1 returning heard_at`,
      [gateway.id],
    );
    await eventually(async () => expect(await usage(credential)).toMatchObject({ online: false }));
    const { last_seen_at: seenAt } = await usage(credential);
    // It was seen when its session was reported, after that.
    expect(Date.parse(seenAt)).toBeGreaterThanOrEqual(rows[0].heard_at.getTime());
    expect(await found('online=true')).toEqual([]);
  });

  it('have no past, and other values are refused', async () => {
    for (const query of [
      'online=true&as_of=1',
      `last_seen_before=${soon()}&as_of=1`,
      'online=yes',
      'last_seen_before=x',
    ]) {
      const { status, body } = await tenant.client.get(`/ssh_credentials?${query}`);
      expect([query, status, body.error_code]).toEqual([query, 400, 'ERR_TAS_400']);
    }
  });
});
