import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sshCredentialsReadModel } from '../src/api/ssh-credentials/ssh-credentials.read-model.js';
import { faultOfCloudEvent } from './support/cloud-events.js';
import { newPublicKey } from './support/keys.js';
import { tokenOf } from './support/live-feed.js';
import { addAccount, addUser, type TestPrincipal } from './support/principals.js';
import { call } from './support/raw-http.js';
import { type Service, startService } from './support/service.js';

const BATCH = 'application/cloudevents-batch+json';

let service: Service;
let account: TestPrincipal;
beforeAll(async () => {
  service = await startService();
  account = await addAccount(service);
});
afterAll(() => service.stop());

const newCredential = (by = account) => by.client.post('/ssh_credentials', { public_key: newPublicKey() });
const headOf = async (by: TestPrincipal): Promise<number> =>
  Number((await by.client.post('/bot_users', { name: `marker ${Math.random()}` })).headers.get('log-position'));

interface Event {
  readonly logposition: number;
  readonly type: string;
  readonly time: string;
  readonly data: { readonly changes?: readonly object[] };
}
const positionsOf = (events: readonly Event[]): number[] => events.map(({ logposition }) => logposition);
const upTo = (last: number): number[] => Array.from({ length: last }, (_, n) => n + 1);

async function walk(by: TestPrincipal, path: string): Promise<Event[]> {
  const events: Event[] = [];
  for (let next: string | null = path; next !== null; ) {
    const { status, body } = await by.client.get(next);
    expect(status).toBe(200);
    events.push(...body.events);
    next = body.next_page_uri;
  }
  return events;
}

async function lines(by: TestPrincipal, query = ''): Promise<Event[]> {
  const headers = { accept: 'application/x-ndjson', authorization: `Bearer ${by.client.token}` };
  const response = await fetch(`${service.app.url}/events${query}`, { headers });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
  const text = await response.text();
  return text === ''
    ? []
    : text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
}

describe('GET /events', () => {
  it('shows an event as a CloudEvent, with its actor and client address', async () => {
    const created = await newCredential();
    const position = Number(created.headers.get('log-position'));
    const { body } = await account.client.get(`/events?after=${position - 1}`);
    const { rows } = await service.pool.query(
      `select event_id, data, to_char(recorded_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as time
       from events where stream_id = $1`,
      [created.body.id],
    );
    expect(body.events).toEqual([
      {
        specversion: '1.0',
        id: rows[0].event_id,
        source: `/accounts/${account.accountId}`,
        type: 'ssh_credential_created.v1',
        subject: created.body.id,
        time: rows[0].time,
        datacontenttype: 'application/json',
        data: JSON.parse(rows[0].data),
        logposition: position,
        streamversion: 1,
        actor: account.id,
        apikeyid: account.keyId,
        clientip: '127.0.0.1',
        useragent: 'node',
        operationid: created.headers.get('ngrok-operation-id'),
        correlationid: created.headers.get('ngrok-operation-id'),
      },
    ]);
  });

  it('has every position once, in order: in pages of any size, as lines, and after any position', async () => {
    const by = await addAccount(service);
    for (let n = 0; n < 12; n += 1) await newCredential(by);
    const head = await headOf(by);
    for (const limit of [1, 5, 1000, 5000]) {
      expect(positionsOf(await walk(by, `/events?limit=${limit}`))).toEqual(upTo(head));
    }
    expect(positionsOf(await lines(by))).toEqual(upTo(head));
    expect(positionsOf(await lines(by, `?after=5`))).toEqual(upTo(head).slice(5));
    expect(positionsOf(await lines(by, '?limit=3'))).toEqual([1, 2, 3]);
    expect(positionsOf(await lines(by, `?as_of=7`))).toEqual(upTo(7));
    expect(positionsOf(await walk(by, '/events?as_of=7&limit=3'))).toEqual(upTo(7));
    expect(await lines(by, `?after=${head}`)).toEqual([]);
  });

  it('shows the same as lines and in pages', async () => {
    expect(await lines(account)).toEqual(await walk(account, '/events'));
  });

  it('has the same events as a batch of CloudEvents, whose header Link leads from page to page', async () => {
    const pages: string[] = [];
    for (let next: string | undefined = `${service.app.url}/events?limit=3`; next !== undefined; ) {
      const headers = { accept: BATCH, authorization: `Bearer ${account.client.token}` };
      const response = await fetch(next, { headers });
      expect([response.status, response.headers.get('content-type')]).toEqual([200, `${BATCH}; charset=utf-8`]);
      pages.push((await response.text()).slice(1, -1));
      [, next] = /^<(.*)>; rel="next"$/.exec(response.headers.get('link') ?? '') ?? [];
    }
    expect(pages.length).toBeGreaterThan(1);
    const headers = { accept: 'application/ndjson', authorization: `Bearer ${account.client.token}` };
    const all = await (await fetch(`${service.app.url}/events`, { headers })).text();
    expect(pages.join(',')).toBe(all.trimEnd().replaceAll('\n', ','));
  });

  it('answers in the format that Accept prefers', async () => {
    const formatFor = async (accept: string) => {
      const headers = { accept, authorization: `Bearer ${account.client.token}` };
      const response = await fetch(`${service.app.url}/events`, { method: 'HEAD', headers });
      return response.headers.get('content-type')?.split(';')[0];
    };
    expect(await formatFor('application/cloudevents+json, application/ndjson;q=0.5')).toBe('application/ndjson');
    expect(await formatFor(`application/json;q=0.5, ${BATCH}; charset=utf-8`)).toBe(BATCH);
    expect(await formatFor('text/html')).toBe('application/json');
  });

  it('has one text for every reader: no host, no control character and no empty attribute, all as the schema of CloudEvents wants', async () => {
    const by = await addAccount(service);
    const { hostname, port } = new URL(service.app.url);
    for (const agent of ['bell\u0009tab\u0085next line', '']) {
      const headers = { authorization: `Bearer ${tokenOf(by)}`, 'user-agent': agent };
      expect((await call(service.app.url, 'POST', '/edges/tcp', headers, '{}')).status).toBe(201);
    }
    const as = async (host: string) => {
      const headers = { authorization: `Bearer ${tokenOf(by)}`, accept: 'application/x-ndjson', host };
      return (await call(service.app.url, 'GET', '/events', headers)).bytes.toString();
    };
    const text = await as(`${hostname}:${port}`);
    expect(await as('another.example')).toBe(text);
    const events = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    for (const event of events) expect(faultOfCloudEvent(event)).toBeUndefined();
    expect(events.map(({ useragent }) => useragent)).toEqual([
      ...Array(events.length - 2).fill(undefined),
      'bell\ufffdtab\u00c2\ufffdnext line',
      undefined,
    ]);
    const { rows } = await service.pool.query(
      `select metadata::json ->> 'user_agent' as agent from events where account_id = $1 order by position desc limit 2`,
      [by.accountId],
    );
    expect(rows.map(({ agent }) => agent)).toEqual(['', 'bell\u0009tab\u00c2\u0085next line']);
  });

  it.each([
    ['nothing else', '{"actor":"usr_1"}'],
    ['an escaped quote', '{"actor":"usr\\"1","ip":"x"}'],
    ['a backslash at the end', '{"actor":"usr_1\\\\"}'],
    ['another place', '{"ip":"{\\"actor\\":\\"usr_2\\"}","actor":"usr_1"}'],
    ['blanks', '{ "actor": "usr_1" }'],
    ['no text', '{"actor":null}'],
    ['another name that begins alike', '{"actors":"usr_2","actor":"usr_1"}'],
    ['no actor', '{"ip":"192.0.2.7"}'],
  ])('finds the actor of metadata that has %s', async (_, metadata) => {
    const { rows } = await service.pool.query('select event_actor($1) as actor', [metadata]);
    const { actor = null } = JSON.parse(metadata);
    expect(rows[0].actor).toBe(typeof actor === 'object' && actor !== null ? JSON.stringify(actor) : actor);
  });

  it('filters by entity, type, actor and time, alone and together', async () => {
    const by = await addAccount(service);
    const helper = await addUser(service, 'admin', by.client);
    const first = await newCredential(by);
    const second = await newCredential(helper);
    await by.client.patch(`/ssh_credentials/${second.body.id}`, { description: 'changed' });
    await headOf(by);
    const all = await walk(by, '/events');
    const timeAt = (answer: { headers: Headers }) =>
      encodeURIComponent(all[Number(answer.headers.get('log-position')) - 1]?.time ?? '');
    const find = async (query: string) => {
      const found = await walk(by, `/events?${query}&limit=2`);
      expect(await lines(by, `?${query}`)).toEqual(found);
      return found.map(({ type }) => type.replace(/\.v1$/, ''));
    };
    const credential = `stream=${second.body.id}`;
    expect(await find(credential)).toEqual(['ssh_credential_created', 'ssh_credential_updated']);
    expect(await find('type=ssh_credential_created.v1')).toHaveLength(2);
    expect(await find(`actor=${helper.id}`)).toEqual(['ssh_credential_created']);
    expect(await find(`${credential}&actor=${by.id}`)).toEqual(['ssh_credential_updated']);
    expect(await find(`since=${timeAt(first)}&type=ssh_credential_created.v1`)).toHaveLength(1);
    expect(await find(`until=${timeAt(first)}&type=ssh_credential_created.v1`)).toHaveLength(1);
    expect(await find(`since=${timeAt(first)}&until=${timeAt(second)}`)).toEqual(['ssh_credential_created']);
    expect(await find('since=2999-01-01T00:00:00Z')).toEqual([]);
    expect(await find('until=2999-01-01T00:00:00Z')).toHaveLength(all.length);
  });

  it('never shows the hash of an API key, in any form', async () => {
    const forms = [JSON.stringify(await walk(account, '/events')), JSON.stringify(await lines(account))];
    for (const text of forms) {
      expect(text).toContain('api_key_created.v1');
      expect(text).not.toMatch(/token_hash|"[0-9a-f]{64}"/);
    }
  });

  it('ends a page early if events are large, and misses no event', async () => {
    const by = await addAccount(service);
    const value = 'x'.repeat(256 * 1024);
    for (let n = 0; n < 9; n += 1) await by.client.post('/edges/tcp', { traffic_policy: { value } });
    const head = await headOf(by);
    const { body } = await by.client.get('/events?limit=1000');
    expect(body.events.length).toBeLessThan(head);
    expect(JSON.stringify(body).length).toBeLessThan(2 * 1024 * 1024);
    expect(positionsOf(await walk(by, '/events?limit=1000'))).toEqual(upTo(head));
    expect(positionsOf(await lines(by))).toEqual(upTo(head));
  });

  it('is for admins: a member gets 403', async () => {
    const member = await addUser(service, 'member', account.client);
    const answer = await member.client.get('/events');
    expect([answer.status, answer.body.error_code]).toEqual([403, 'ERR_NGROK_635']);
    const headers = { accept: 'text/event-stream', authorization: `Bearer ${member.client.token}` };
    for (const path of ['/events', '/log/export'])
      expect([path, (await fetch(service.app.url + path, { headers })).status]).toEqual([path, 403]);
  });

  it.each([
    ['after=x', 'ERR_NGROK_223', /^after 'x' is not a log position\.$/],
    ['limit=0', 'ERR_NGROK_233', /minimum is 1/],
    ['limit=ten', 'ERR_NGROK_244', /not a number/],
    ['type=created', 'ERR_TAS_400', /^type 'created' is not an event type; the types are account_created\.v1, /],
    ['stream=abc', 'ERR_TAS_400', /^stream 'abc' is not the id of an entity\.$/],
    ['actor=a%20b', 'ERR_TAS_400', /^actor 'a b' is not the id of an actor\.$/],
    ['since=today', 'ERR_TAS_400', /^since 'today' is not an RFC 3339 time/],
    ['until=12', 'ERR_TAS_400', /^until '12' is not an RFC 3339 time/],
  ])('refuses %s with 400', async (query, code, message) => {
    const { status, body } = await account.client.get(`/events?${query}`);
    expect([status, body.error_code]).toEqual([400, code]);
    expect(body.msg).toMatch(message);
  });

  it('has what each event changed with include=changes, in stored names and without secrets, also on later pages', async () => {
    const by = await addAccount(service);
    const { id } = (await newCredential(by)).body;
    await by.client.patch(`/ssh_credentials/${id}`, { acl: ['bind:app.example.com'] });
    await by.client.patch(`/ssh_credentials/${id}`, { acl: [], description: 'wider' });
    await by.client.post('/api_keys', {});
    await by.client.delete(`/ssh_credentials/${id}`);
    const changesOf = (events: readonly Event[]) => events.map(({ data: { changes = [] } }) => changes);
    const events = await walk(by, `/events?stream=${id}&limit=2&include=changes`);
    const [created = [], ...later] = changesOf(events);
    expect(created).toContainEqual({ field: 'acl', from: null, to: [] });
    expect(later).toEqual([
      [{ field: 'acl', from: [], to: ['bind:app.example.com'] }],
      [
        { field: 'description', from: '', to: 'wider' },
        { field: 'acl', from: ['bind:app.example.com'], to: [] },
      ],
      [],
    ]);
    const all = await walk(by, '/events?include=changes');
    expect(all.map(({ data: { changes: _, ...data }, ...event }) => ({ ...event, data }))).toEqual(
      await walk(by, '/events'),
    );
    expect(changesOf(all).flat().length).toBeGreaterThan(10);
    expect(JSON.stringify(all)).not.toContain('token_hash');
    const { body } = await account.client.get('/events?include=changed');
    expect(body).toMatchObject({ status_code: 400, msg: expect.stringContaining('it takes changes') });
    for (const accept of ['application/x-ndjson', 'text/event-stream']) {
      expect((await by.client.get('/events?include=changes', { accept })).status).toBe(400);
    }
  });

  it('refuses parameters that would end a live feed', async () => {
    const headers = { accept: 'text/event-stream', authorization: `Bearer ${account.client.token}` };
    for (const query of ['as_of=1', 'until=2999-01-01T00:00:00Z', 'limit=5', 'since=2999-01-01T00:00:00Z']) {
      expect((await fetch(`${service.app.url}/events?${query}`, { headers })).status).toBe(400);
    }
  });

  it('answers HEAD in every form without a body', async () => {
    for (const accept of ['application/json', 'application/x-ndjson', 'text/event-stream']) {
      const headers = { accept, authorization: `Bearer ${account.client.token}` };
      const response = await fetch(`${service.app.url}/events`, { method: 'HEAD', headers });
      expect([response.status, response.headers.get('content-type')?.split(';')[0]]).toEqual([200, accept]);
    }
  });

  it('shows an event of an unknown type in the feed, while as_of refuses to guess its effect', async () => {
    const by = await addAccount(service);
    const { body } = await newCredential(by);
    await service.pool.query(
      `with head as (update log_heads set size = size + 1 where account_id = $1 returning size)
       insert into events select $1, size, $2, 2, gen_random_uuid(), 'ssh_credential_sealed.v9', '{}', '{"actor":"system"}',
         now(), now(), '' from head`,
      [by.accountId, body.id],
    );
    expect(Object.keys(sshCredentialsReadModel.events)).not.toContain('ssh_credential_sealed.v9');
    const { rows } = await service.pool.query('select size from log_heads where account_id = $1', [by.accountId]);
    const at = await by.client.get(`/ssh_credentials/${body.id}?as_of=${rows[0].size}`);
    expect([at.status, at.body.msg]).toEqual([409, expect.stringContaining('know its type ssh_credential_sealed.v9')]);
    expect((await lines(by)).at(-1)).toMatchObject({ type: 'ssh_credential_sealed.v9', subject: body.id });
  });
});
