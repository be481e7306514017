import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newPublicKey } from './support/keys.js';
import { addAccount, addUser, type TestPrincipal } from './support/principals.js';
import { type Service, startService } from './support/service.js';

let service: Service;
let admin: TestPrincipal;
let member: TestPrincipal;
beforeAll(async () => {
  service = await startService();
  admin = await addUser(service, 'admin');
  member = await addUser(service, 'member');
});
afterAll(() => service.stop());

const newCredential = (by = admin) =>
  by.client.post('/ssh_credentials', { public_key: newPublicKey(), acl: ['bind:a.example.test'] });

describe('GET /{resource}/{id}/events', () => {
  it('shows who changed which fields, when, from where and in which request, oldest first', async () => {
    const created = await newCredential(member);
    const path = `/ssh_credentials/${created.body.id}`;
    const changed = await admin.client.patch(path, { acl: ['*'], description: 'wider' }, { 'user-agent': 'tester/2' });
    const { status, body } = await admin.client.get(`${path}/events`);
    expect([status, body.uri, body.next_page_uri]).toEqual([200, `${service.app.url}${path}/events`, null]);
    expect(body.events).toHaveLength(2);
    expect(body.events[0]).toMatchObject({ version: 1, type: 'ssh_credential_created.v1', actor: member.id });
    expect(body.events[0].changes).toContainEqual({ field: 'acl', from: null, to: ['bind:a.example.test'] });
    const { rows } = await service.pool.query(
      `select to_char(recorded_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as time from events
       where stream_id = $1 order by stream_version desc limit 1`,
      [created.body.id],
    );
    expect(body.events[1]).toEqual({
      position: Number(changed.headers.get('log-position')),
      version: 2,
      type: 'ssh_credential_updated.v1',
      time: rows[0].time,
      actor: admin.id,
      api_key_id: admin.keyId,
      token_id: null,
      ip: '127.0.0.1',
      user_agent: 'tester/2',
      operation_id: changed.headers.get('ngrok-operation-id'),
      correlation_id: changed.headers.get('ngrok-operation-id'),
      causation_id: null,
      changes: [
        { field: 'description', from: '', to: 'wider' },
        { field: 'acl', from: ['bind:a.example.test'], to: ['*'] },
      ],
    });
  });

  it('shows deleted entities too, and the state as of a position', async () => {
    const { body: edge } = await admin.client.post('/edges/tcp', { hostports: ['a.example.test:1'] });
    const set = await admin.client.put(`/edges/tcp/${edge.id}/backend`, { backend_id: 'bkdhr_1' });
    await admin.client.delete(`/edges/tcp/${edge.id}`);
    const typesOf = async (query: string) =>
      (await admin.client.get(`/edges/tcp/${edge.id}/events${query}`)).body.events.map(
        ({ type, changes }: { type: string; changes: unknown[] }) => [type, changes.length],
      );
    const upToBackend = [
      ['tcp_edge_created.v1', 3],
      ['tcp_edge_updated.v1', 1],
    ];
    expect(await typesOf('')).toEqual([...upToBackend, ['tcp_edge_deleted.v1', 0]]);
    expect(await typesOf(`?as_of=${set.headers.get('log-position')}`)).toEqual(upToBackend);
  });

  it('has pages that miss no event', async () => {
    const { body: bot } = await admin.client.post('/bot_users', { name: 'paged' });
    for (let n = 0; n < 6; n += 1) await admin.client.patch(`/bot_users/${bot.id}`, { active: n % 2 === 1 });
    const versions: number[][] = [];
    for (let next = `/bot_users/${bot.id}/events?limit=3`; next !== null; ) {
      const { body } = await admin.client.get(next);
      versions.push(body.events.map(({ version }: { version: number }) => version));
      next = body.next_page_uri;
    }
    expect(versions).toEqual([[1, 2, 3], [4, 5, 6], [7]]);
  });

  it('is for admins and the owner: 403 for other members of the account', async () => {
    const { body: own } = await newCredential(member);
    const { body: others } = await newCredential();
    const { body: edge } = await member.client.post('/edges/tcp', {});
    const statusOf = async (path: string) => (await member.client.get(`${path}/events`)).status;
    expect(await statusOf(`/ssh_credentials/${own.id}`)).toBe(200);
    expect(await statusOf(`/ssh_credentials/${others.id}`)).toBe(403);
    expect(await statusOf(`/edges/tcp/${edge.id}`)).toBe(403);
    expect(await statusOf(`/users/${admin.id}`)).toBe(403);
    await admin.client.delete(`/ssh_credentials/${own.id}`);
    expect(await statusOf(`/ssh_credentials/${own.id}`)).toBe(200);
  });

  it("of an API key never has its hash, and of another principal's key is not found for a member", async () => {
    const { body: key } = await admin.client.post('/api_keys', { description: 'mine' });
    const history = await admin.client.get(`/api_keys/${key.id}/events`);
    expect(history.body.events[0].changes.map(({ field }: { field: string }) => field)).toEqual([
      'description',
      'metadata',
      'owner_id',
    ]);
    expect(JSON.stringify(history.body)).not.toMatch(/hash|[0-9a-f]{64}/);
    expect((await member.client.get(`/api_keys/${key.id}/events`)).status).toBe(404);
    expect((await member.client.get(`/api_keys/${member.keyId}/events`)).status).toBe(200);
  });

  it('answers 404 for an id that never existed, an id of another resource and an id of another account', async () => {
    const { body } = await newCredential();
    const foreigner = await addAccount(service);
    for (const answer of [
      await admin.client.get('/ssh_credentials/sshcr_3MPflUxi65UVJUZK1y0iEJKUOhV/events'),
      await admin.client.get(`/edges/tcp/${body.id}/events`),
      await foreigner.client.get(`/ssh_credentials/${body.id}/events`),
    ]) {
      expect(answer.status).toBe(404);
    }
  });

  it.each([
    ['after=x', 'ERR_NGROK_223'],
    ['limit=0', 'ERR_NGROK_233'],
    ['limit=x', 'ERR_NGROK_244'],
  ])('refuses %s with 400', async (query, code) => {
    const { body } = await newCredential();
    const answer = await admin.client.get(`/ssh_credentials/${body.id}/events?${query}`);
    expect([answer.status, answer.body.error_code]).toEqual([400, code]);
  });
});
