import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { READ_MODELS } from '../src/api/read-models.js';
import { expireNow } from './support/expire.js';
import { newPublicKey } from './support/keys.js';
import { addAccount, addBot, addUser, type TestPrincipal } from './support/principals.js';
import { type Service, startService } from './support/service.js';

let service: Service;
let account: TestPrincipal;
beforeAll(async () => {
  service = await startService();
  account = await addAccount(service);
});
afterAll(() => service.stop());

interface Credential {
  readonly id: string;
  readonly fingerprint: string;
}

async function upload(body: object = {}, by = account): Promise<Credential> {
  const { body: made } = await by.client.post('/ssh_credentials', { public_key: newPublicKey(), ...body });
  const { rows } = await service.pool.query('select id, fingerprint from ssh_credentials where id = $1', [made.id]);
  return rows[0];
}

const find = async (query: Record<string, string>, by = account): Promise<string[]> =>
  (await by.client.pages(`/ssh_credentials?${new URLSearchParams(query)}`, 'ssh_credentials')).flat();

describe('GET /ssh_credentials?fingerprint=', () => {
  it('finds the credentials of a key, newest first, and no other', async () => {
    const public_key = newPublicKey();
    const [first, second] = [await upload({ public_key }), await upload({ public_key })];
    await upload();
    expect(await find({ fingerprint: first.fingerprint })).toEqual([second.id, first.id]);
    expect(await find({ fingerprint: first.fingerprint, limit: '1' })).toEqual([second.id, first.id]);
  });

  it('finds it by a fingerprint whose plus sign is not percent-encoded, so that it arrives as a blank', async () => {
    let credential = await upload();
    while (!credential.fingerprint.includes('+')) credential = await upload();
    const { body } = await account.client.get(`/ssh_credentials?fingerprint=${credential.fingerprint}`);
    expect(body.ssh_credentials.map(({ id }: Credential) => id)).toEqual([credential.id]);
  });

  it('finds none on another account, and none once the credential is deleted', async () => {
    const { id, fingerprint } = await upload();
    expect(await find({ fingerprint }, await addAccount(service))).toEqual([]);
    await account.client.delete(`/ssh_credentials/${id}`);
    expect(await find({ fingerprint })).toEqual([]);
  });
});

describe('GET /ssh_credentials?owner_id=', () => {
  it('finds the credentials of an owner in pages, also of one that the account does not know', async () => {
    const bot = await addBot(service, account.client);
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) ids.unshift((await upload({}, bot)).id);
    const { id: foreign } = await upload({ owner_id: 'ada' });
    expect(await account.client.pages(`/ssh_credentials?owner_id=${bot.id}&limit=2`, 'ssh_credentials')).toEqual([
      ids.slice(0, 2),
      ids.slice(2),
    ]);
    expect(await find({ owner_id: 'ada' })).toEqual([foreign]);
    expect(await find({ owner_id: 'bob' })).toEqual([]);
  });
});

describe('GET /ssh_credentials?expiring_before=', () => {
  it('finds what expires before a time and what has expired, not what expires later or never', async () => {
    const [past, soon, late] = [await upload(), await upload(), await upload()];
    await upload();
    await expireNow(account.client, `/ssh_credentials/${past.id}`);
    for (const [{ id }, expires_at] of [
      [soon, '2090-01-01T00:00:00Z'],
      [late, '2090-01-01T00:00:00.001Z'],
    ] as const) {
      await account.client.put(`/ssh_credentials/${id}/expiry`, { expires_at });
    }
    expect(await find({ expiring_before: '2090-01-01T00:00:00Z' })).toEqual([past.id]);
    expect(await find({ expiring_before: '2090-01-01T01:00:00.001+01:00' })).toEqual([soon.id, past.id]);
    expect(await find({ expiring_before: '2091-01-01T00:00:00Z', limit: '1' })).toEqual([late.id, soon.id, past.id]);
    expect(await find({ expiring_before: '2091-01-01T00:00:00Z' }, await addAccount(service))).toEqual([]);
    await account.client.delete(`/ssh_credentials/${soon.id}/expiry`);
    expect(await find({ expiring_before: '2091-01-01T00:00:00Z' })).toEqual([late.id, past.id]);
  });
});

describe('GET /ssh_credentials?text=', () => {
  it('finds a text in description and metadata, whatever its case, also as of a moment and with other filters', async () => {
    const own = await addAccount(service);
    const [camera, door] = [
      await upload({ description: 'Camera 7, ÜBER the door' }, own),
      await upload({ metadata: '{"kind":"DOOR%_"}', owner_id: 'ada' }, own),
    ];
    await upload({ description: 'other' }, own);
    expect(await find({ text: 'door' }, own)).toEqual([door.id, camera.id]);
    expect(await find({ text: 'über' }, own)).toEqual([camera.id]);
    expect(await find({ text: 'door', owner_id: 'ada' }, own)).toEqual([door.id]);
    expect(await find({ text: '%_' }, own)).toEqual([door.id]);
    expect(await find({ text: 'door' })).toEqual([]);
    const asOf = (await own.client.delete(`/ssh_credentials/${camera.id}`)).headers.get('log-position');
    expect(await find({ text: 'door' }, own)).toEqual([door.id]);
    expect(await find({ text: 'door', as_of: String(Number(asOf) - 1) }, own)).toEqual([door.id, camera.id]);
  });

  it('reads 10,000 credentials a page: an empty page has a next one, which repeats the search', async () => {
    const own = await addAccount(service);
    const oldest = await upload({ description: 'the oldest' }, own);
    await service.pool.query(
      `insert into ssh_credentials (account_id, id, version, created_at, description, metadata, public_key, acl, owner_id,
         key_type, key_bits, key_blob, fingerprint, exclusive) select account_id, 'sshcr_z' || lpad(n::text, 26, '0'), 1, created_at, 'x', '', public_key, acl,
         owner_id, key_type, key_bits, key_blob, fingerprint, exclusive from ssh_credentials, generate_series(1, 12000) n
         where id = $1`,
      [oldest.id],
    );
    const { body } = await own.client.get('/ssh_credentials?text=oldest&limit=5');
    expect(body).toMatchObject({
      ssh_credentials: [],
      next_page_uri: expect.stringMatching(/before_id=sshcr_z0{22}2001&limit=5&text=oldest$/),
    });
    const next = (await own.client.get(body.next_page_uri)).body;
    expect(next.ssh_credentials).toMatchObject([{ id: oldest.id }]);
    expect(next.next_page_uri).toBeNull();
    expect((await find({ text: 'x', limit: '100' }, own)).length).toBe(12_000);
  });
});

describe('GET /ssh_credentials?permits=', () => {
  it('finds whose rules permit a target, of each kind, in pages', async () => {
    const own = await addAccount(service);
    const all = await upload({}, own);
    const wild = await upload({ acl: ['bind:*.Example.com'] }, own);
    const port = await upload({ acl: ['bind:*:443', 'bind:team=blue'] }, own);
    expect(await find({ permits: 'app.example.com:443', limit: '1' }, own)).toEqual([port.id, wild.id, all.id]);
    expect(await find({ permits: 'app.example.com' }, own)).toEqual([wild.id, all.id]);
    expect(await find({ permits: 'team=blue' }, own)).toEqual([port.id, all.id]);
    const { status, body } = await own.client.get('/ssh_credentials?permits=a..b');
    expect([status, body.status_code]).toEqual([400, 400]);
  });
});

describe('the filters of the list', () => {
  it('hold together', async () => {
    const public_key = newPublicKey();
    const [own, others] = [await upload({ public_key }), await upload({ public_key, owner_id: 'carol' })];
    const { fingerprint } = own;
    const expiring_before = '2100-01-01T00:00:00Z';
    expect(await find({ fingerprint, owner_id: 'carol' })).toEqual([others.id]);
    expect(await find({ fingerprint, owner_id: 'carol', expiring_before })).toEqual([]);
    await account.client.put(`/ssh_credentials/${others.id}/expiry`, { expires_at: '2099-01-01T00:00:00Z' });
    for (const query of [
      { fingerprint, expiring_before },
      { owner_id: 'carol', expiring_before },
    ]) {
      expect(await find(query)).toEqual([others.id]);
    }
    expect(await find({ fingerprint, owner_id: 'carol', expiring_before })).toEqual([others.id]);
  });

  it('select the state as of a position, on all its pages', async () => {
    const bot = await addBot(service, account.client);
    const [first, second] = [await upload({}, bot), await upload({}, bot)];
    const set = await account.client.put(`/ssh_credentials/${first.id}/expiry`, { expires_at: '2090-02-01T00:00:00Z' });
    const as_of = set.headers.get('log-position') ?? '';
    await account.client.delete(`/ssh_credentials/${second.id}`);
    await account.client.delete(`/ssh_credentials/${first.id}/expiry`);
    expect(await find({ owner_id: bot.id })).toEqual([first.id]);
    expect(await find({ owner_id: bot.id, as_of, limit: '1' })).toEqual([second.id, first.id]);
    expect(await find({ fingerprint: second.fingerprint, as_of })).toEqual([second.id]);
    const expiring_before = '2090-02-01T00:00:01Z';
    expect(await find({ owner_id: bot.id, expiring_before, as_of })).toEqual([first.id]);
    expect(await find({ owner_id: bot.id, expiring_before })).toEqual([]);
  });

  it('stand in next_page_uri', async () => {
    const public_key = newPublicKey();
    const { fingerprint } = await upload({ public_key });
    const { id } = await upload({ public_key });
    const query = new URLSearchParams({ limit: '1', fingerprint });
    const { body } = await account.client.get(`/ssh_credentials?${query}`);
    const next = new URL(body.next_page_uri).searchParams;
    expect(Object.fromEntries(next)).toEqual({ before_id: id, limit: '1', fingerprint });
  });

  it('are for every member, who sees every credential of the account', async () => {
    const { id, fingerprint } = await upload();
    expect(await find({ fingerprint }, await addUser(service, 'member', account.client))).toEqual([id]);
  });

  it.each([
    ['fingerprint', 'MD5:ab', "fingerprint must be as ssh-keygen -l prints it: 'SHA256:' and 43 characters of base64."],
    ['fingerprint', '', 'fingerprint is empty; give it a value, or leave it out.'],
    ['owner_id', 'a b', 'owner_id must be 1 to 128 characters of A-Z, a-z, 0-9, _ and -.'],
    ['expiring_before', 'tomorrow', "expiring_before 'tomorrow' is not an RFC 3339 time such as 2026-11-21T11:45:07Z."],
    [
      'expiring_before',
      '2026-02-30T00:00:00Z',
      "expiring_before '2026-02-30T00:00:00Z' is not an RFC 3339 time such as 2026-11-21T11:45:07Z.",
    ],
  ])('refuse %s=%s with the reason', async (name, value, message) => {
    const { status, body } = await account.client.get(`/ssh_credentials?${new URLSearchParams({ [name]: value })}`);
    expect([status, body.error_code, body.msg]).toEqual([400, 'ERR_TAS_400', message]);
  });
});

/** The types whose values are the same as JSON and as pg reads a column. */
const JSON_TYPES = ['text', 'int4', 'bool', 'jsonb', '_text'];

describe('a look-up by id, which reads its rows as JSON,', () => {
  it('finds only columns of types that JSON has, and times, which alone have names that end in _at', async () => {
    const tables = READ_MODELS.flatMap((model) => model.tables);
    const { rows } = await service.pool.query(
      `select table_name as table, column_name as column, udt_name as type from information_schema.columns
        where table_schema = 'public' and table_name = any($1)`,
      [tables.map(({ name }) => name)],
    );
    const read = rows.filter(({ table, column }) =>
      tables.find(({ name }) => name === table)?.columns.includes(column),
    );
    const expected = ({ column }: { column: string }) => (column.endsWith('_at') ? ['timestamptz'] : JSON_TYPES);
    expect(read.length).toBeGreaterThan(tables.length);
    expect(read.filter((one) => !expected(one).includes(one.type))).toEqual([]);
  });
});
