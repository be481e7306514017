import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { READ_MODELS } from '../src/api/read-models.js';
import { type Answer, ApiClient } from './support/api-client.js';
import { provenOf } from './support/found.js';
import { addAccount, addUser, type TestPrincipal } from './support/principals.js';
import { refusalsOf } from './support/refusals.js';
import { expectRowsToBeTheFoldOfTheLog } from './support/replay.js';
import { GATEWAY, type Service, startCopy, startService } from './support/service.js';

const POOLS = [
  { host: '1.tcp.example.com', from: 20_000, to: 20_499, region: 'eu' },
  { host: '2.tcp.example.com', from: 30_000, to: 30_001, region: 'us' },
];
const SETTINGS = { ...GATEWAY, addressPools: POOLS };

let service: Service;
let admin: ApiClient;
let other: TestPrincipal;
beforeAll(async () => {
  service = await startService(SETTINGS);
  admin = service.admin;
  other = await addAccount(service);
});
afterAll(() => service.stop());

const { expectRefusal } = refusalsOf(() => service);
const CREATED_AT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const CONFLICT = [409, 'ERR_TAS_409'] as const;

let n = 0;
const next = (): number => {
  n += 1;
  return n;
};
const newAddr = (): string => `host-${next()}.example.com:7000`;
const newDomain = (): string => `name-${next()}.example.com`;
const reserve = async (path: 'reserved_addrs' | 'reserved_domains', body: object, client = admin) => {
  const answer = await client.post(`/${path}`, body);
  expect(answer).toMatchObject({ status: 201 });
  return answer.body;
};

describe('a reserved address', () => {
  it('is created, read, listed, changed and deleted, in the shape of the public API', async () => {
    const addr = newAddr();
    const created = await reserve('reserved_addrs', { addr, description: 'camera', metadata: 'm', region: 'eu' });
    expect(created).toEqual({
      id: expect.stringMatching(/^ra_[0-9A-Za-z]{27}$/),
      uri: `${service.app.url}/reserved_addrs/${created.id}`,
      created_at: CREATED_AT,
      ...{ description: 'camera', metadata: 'm', addr, region: 'eu' },
    });
    const path = `/reserved_addrs/${created.id}`;
    expect((await admin.get(path)).body).toEqual(created);
    expect((await admin.get('/reserved_addrs?limit=1')).body.reserved_addrs).toEqual([created]);
    expect((await admin.patch(path, { ...created, metadata: '' })).body).toEqual({ ...created, metadata: '' });
    expect((await admin.get(`${path}/events`)).body.events).toHaveLength(2);
    expect((await admin.delete(path)).status).toBe(204);
    expect((await admin.get(path)).status).toBe(404);
  });

  it('is compared and returned in its canonical form', async () => {
    const { addr } = await reserve('reserved_addrs', { addr: 'Büro.Example.COM.:443' });
    expect(addr).toBe('xn--bro-hoa.example.com:443');
    await expectRefusal(
      () => admin.post('/reserved_addrs', { addr: 'BÜRO.example.com:443' }),
      ...CONFLICT,
      /reserved already/,
    );
  });

  it('belongs to one account: another cannot reserve it', async () => {
    const addr = newAddr();
    await reserve('reserved_addrs', { addr });
    await expectRefusal(() => other.client.post('/reserved_addrs', { addr }), ...CONFLICT, /is reserved already\.$/);
  });

  it('keeps its address and its region', async () => {
    const { id } = await reserve('reserved_addrs', { addr: newAddr() });
    for (const body of [{ addr: newAddr() }, { region: 'us' }]) {
      await expectRefusal(() => admin.patch(`/reserved_addrs/${id}`, body), 400, 'ERR_TAS_400', /read-only/);
    }
  });

  it.each([
    ['no port', { addr: 'a.example.com' }, 'ERR_NGROK_7104'],
    ['port 0', { addr: 'a.example.com:0' }, 'ERR_NGROK_7112'],
    ['a wildcard', { addr: '*.example.com:443' }, 'ERR_NGROK_7104'],
    ['no text', { addr: 443 }, 'ERR_NGROK_215'],
    ['a region of no pool', { region: 'mars' }, 'ERR_TAS_400'],
    ['another region than the one of its pool', { addr: '1.tcp.example.com:20000', region: 'us' }, 'ERR_TAS_400'],
  ])('is refused with %s', async (_, body, code) => {
    await expectRefusal(() => admin.post('/reserved_addrs', body), 400, code);
  });

  it('is not made by auditors', async () => {
    const auditor = await addUser(service, 'auditor');
    await expectRefusal(() => auditor.client.post('/reserved_addrs', { addr: newAddr() }), 403, 'ERR_NGROK_635');
  });
});

describe('a pool', () => {
  it('gives a free address of the region that is asked for, until it has none', async () => {
    const given = [
      await reserve('reserved_addrs', { region: 'us' }),
      await reserve('reserved_addrs', { region: 'us' }),
    ];
    expect(given.map(({ addr, region }) => `${region} ${addr}`).sort()).toEqual([
      'us 2.tcp.example.com:30000',
      'us 2.tcp.example.com:30001',
    ]);
    const empty = /^The pools of 'us' have no free address/;
    await expectRefusal(() => admin.post('/reserved_addrs', { region: 'us' }), ...CONFLICT, empty);
    for (const { id } of given) await admin.delete(`/reserved_addrs/${id}`);
    // They rest, and only the account that had them may have them again, by name.
    await expectRefusal(() => other.client.post('/reserved_addrs', { region: 'us' }), ...CONFLICT, empty);
    const [first] = given;
    const again = { addr: first.addr };
    await expectRefusal(() => other.client.post('/reserved_addrs', again), ...CONFLICT, /rests until 20/);
    expect((await reserve('reserved_addrs', again)).region).toBe('us');
  });

  it('without a region serves every region, and the address keeps the one that was asked for', async () => {
    const nameless = await startService({ ...GATEWAY, addressPools: POOLS.map((pool) => ({ ...pool, region: '' })) });
    for (const region of ['us', '']) {
      expect((await reserve('reserved_addrs', { region }, nameless.admin)).region).toBe(region);
    }
    const addr = '1.tcp.example.com:20000';
    expect((await reserve('reserved_addrs', { addr, region: 'ap' }, nameless.admin)).region).toBe('ap');
    await nameless.stop();
  });

  it('gives a deleted address again after its rest', async () => {
    const hasty = await startService({ ...SETTINGS, reservationRestMs: 0 });
    for (let round = 0; round < 5; round += 1) {
      const { id } = await reserve('reserved_addrs', { region: 'us' }, hasty.admin);
      expect((await hasty.admin.delete(`/reserved_addrs/${id}`)).status).toBe(204);
    }
    await hasty.stop();
  });

  it('chooses nothing for a repetition under an Idempotency-Key: it answers as before, though no address is left', async () => {
    const tiny = await startService({ ...GATEWAY, addressPools: [{ ...POOLS[1], to: 30_000 } as (typeof POOLS)[0]] });
    const once = { 'idempotency-key': 'only-one' };
    const [first, again] = [
      await tiny.admin.post('/reserved_addrs', {}, once),
      await tiny.admin.post('/reserved_addrs', {}, once),
    ];
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.body).toEqual(first.body);
    expect((await tiny.admin.post('/reserved_addrs', {})).status).toBe(409);
    await tiny.stop();
  });

  it('that was set under a domain which another account has already gives no address, and says so', async () => {
    const older = await startService(GATEWAY);
    const stranger = await addAccount(older);
    await reserve('reserved_domains', { domain: '*.tcp.example.com' }, stranger.client);
    const later = await startCopy(older, SETTINGS);
    const refused = await later.admin.post('/reserved_addrs', { region: 'eu' });
    expect(refused).toMatchObject({ status: 409, body: { msg: expect.stringContaining('no free address') } });
    const own = await new ApiClient(later.app.url, stranger.client.token).post('/reserved_addrs', { region: 'eu' });
    expect(own.status).toBe(201);
    await later.stop();
    await older.stop();
  });

  it('gives 500 clients at two instances 500 different addresses, and the proof agrees', async () => {
    const own = await startService(SETTINGS);
    const copy = await startCopy(own, SETTINGS);
    const stranger = await addAccount(own);
    const clients = [own.admin, stranger.client, copy.admin, stranger.client];
    const answers: Answer[] = [];
    let left = 500;
    const work = async (client: ApiClient): Promise<void> => {
      while (left > 0) {
        left -= 1;
        answers.push(await client.post('/reserved_addrs', { region: 'eu' }));
      }
    };
    await Promise.all(Array.from({ length: 64 }, (_, k) => work(clients[k % 4] as ApiClient)));
    expect(answers.filter(({ status }) => status !== 201).map(({ body }) => body.msg)).toEqual([]);
    expect(new Set(answers.map(({ body }) => body.addr)).size).toBe(500);
    const refused = await own.admin.post('/reserved_addrs', { region: 'eu' });
    expect(refused).toMatchObject({ status: 409, body: { msg: expect.stringContaining('no free address') } });
    for (const model of READ_MODELS) await expectRowsToBeTheFoldOfTheLog(own.pool, model);
    expect(await provenOf(own.app.database)).toMatchObject({ faults: [], differences: [] });
    await copy.stop();
    await own.stop();
  });
});

describe('a reserved domain', () => {
  it('is created, read, listed, changed and deleted, in the shape of the public API', async () => {
    const domain = newDomain();
    const created = await reserve('reserved_domains', { domain, description: 'shop', region: 'us' });
    expect(created).toEqual({
      id: expect.stringMatching(/^rd_[0-9A-Za-z]{27}$/),
      uri: `${service.app.url}/reserved_domains/${created.id}`,
      created_at: CREATED_AT,
      ...{ description: 'shop', metadata: '', domain, region: 'us' },
      ...{ cname_target: null, certificate: null, certificate_management_policy: null },
      ...{ certificate_management_status: null, acme_challenge_cname_target: null, resolves_to: null },
    });
    const path = `/reserved_domains/${created.id}`;
    expect((await admin.get(path)).body).toEqual(created);
    expect((await admin.get('/reserved_domains?limit=1')).body.reserved_domains).toEqual([created]);
    expect((await admin.patch(path, { ...created, metadata: 'm' })).body).toEqual({ ...created, metadata: 'm' });
    expect((await admin.delete(path)).status).toBe(204);
    await expectRefusal(() => other.client.post('/reserved_domains', { domain }), ...CONFLICT, /rests until 20/);
    await reserve('reserved_domains', { domain });
  });

  it('comes back as sent, and is compared in its canonical form', async () => {
    const domain = `B\u00fcro-${next()}.EXAMPLE.com.`;
    const created = await reserve('reserved_domains', { domain });
    const path = `/reserved_domains/${created.id}`;
    expect((await admin.get(path)).body.domain).toBe(domain);
    expect((await admin.patch(path, { domain, description: 'x' })).body.domain).toBe(domain);
    expect((await admin.get(`${path}/events`)).body.events[0].changes).toContainEqual({
      ...{ field: 'domain', from: null, to: domain },
    });
    const other = domain.toLowerCase().slice(0, -1);
    await expectRefusal(() => admin.post('/reserved_domains', { domain: other }), ...CONFLICT, /reserved already/);
    await expectRefusal(() => admin.patch(path, { domain: other }), 400, 'ERR_TAS_400', /read-only/);
  });

  it('keeps any region, which may change', async () => {
    const { id } = await reserve('reserved_domains', { domain: newDomain(), region: 'us' });
    expect((await admin.patch(`/reserved_domains/${id}`, { region: 'eu' })).body.region).toBe('eu');
    const long = { domain: newDomain(), region: 'x'.repeat(65) };
    await expectRefusal(() => admin.post('/reserved_domains', long), 400, 'ERR_TAS_400', /maximum is 64/);
  });

  it('takes what clients send who ask for no certificate', async () => {
    const nothing = { certificate_id: '', certificate_management_policy: null, resolves_to: [] };
    const { id } = await reserve('reserved_domains', { domain: newDomain(), ...nothing });
    expect((await admin.patch(`/reserved_domains/${id}`, nothing)).status).toBe(200);
    const policy = { certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'ecdsa' } };
    const sentence = /^certificate_management_policy cannot be set: the service issues no certificates/;
    await expectRefusal(() => admin.patch(`/reserved_domains/${id}`, policy), 400, 'ERR_TAS_400', sentence);
  });

  it.each([
    ['none', {}, /^domain is missing/],
    ['an address', { domain: '192.0.2.1' }, /ends in a number/],
    ['one label', { domain: 'example' }, /two labels or more/],
    ['a wildcard over a whole zone', { domain: '*.com' }, /two labels or more/],
    ['a wildcard in the middle', { domain: 'a.*.example.com' }, /is not a domain/],
    ['a port', { domain: 'a.example.com:443' }, /is not a domain/],
    ['a certificate', { domain: 'a.example.com', certificate_id: 'cert_1' }, /issues no certificates/],
  ])('is refused with %s', async (_, body, message) => {
    await expectRefusal(() => admin.post('/reserved_domains', body), 400, 'ERR_TAS_400', message);
  });

  it('is refused at the host of a pool, and above it', async () => {
    for (const domain of ['1.tcp.example.com', '*.tcp.example.com', '*.example.com']) {
      await expectRefusal(
        () => admin.post('/reserved_domains', { domain }),
        ...CONFLICT,
        /all accounts share the host/,
      );
    }
  });

  it('is refused at the host of the service, and at those that the operator names', async () => {
    const own = await startService({
      ...GATEWAY,
      publicUrl: 'https://Tunnels.example.com:8443/api',
      unreservableHosts: ['gateway.example.org'],
    });
    for (const domain of ['tunnels.example.com', '*.example.com', '*.tunnels.example.com', 'GATEWAY.example.org']) {
      const answer = await own.admin.post('/reserved_domains', { domain });
      expect(answer).toMatchObject({ status: 409, body: { msg: expect.stringContaining('all accounts share') } });
    }
    await reserve('reserved_domains', { domain: 'x.tunnels.example.com' }, own.admin);
    const address = await own.admin.post('/reserved_addrs', { addr: 'gateway.example.org:22' });
    expect(address).toMatchObject({ status: 409, body: { msg: expect.stringContaining('all accounts share') } });
    await reserve('reserved_addrs', { addr: 'tunnels.example.com:22' }, own.admin);
    await own.stop();
  });

  it.each([
    ['a name under a wildcard', (name: string) => [`*.${name}`, `x.y.${name}`]],
    ['a wildcard over a name', (name: string) => [`x.y.${name}`, `*.${name}`]],
    ['a wildcard under a wildcard', (name: string) => [`*.${name}`, `*.y.${name}`]],
  ])('of another account is refused as %s', async (_, names) => {
    const [first, second] = names(newDomain());
    await reserve('reserved_domains', { domain: first });
    await expectRefusal(() => other.client.post('/reserved_domains', { domain: second }), ...CONFLICT, /overlaps/);
    await reserve('reserved_domains', { domain: second });
  });

  it('does not cover its parent, nor a name that only ends alike', async () => {
    const name = newDomain();
    await reserve('reserved_domains', { domain: `*.${name}` });
    await reserve('reserved_domains', { domain: name }, other.client);
    await reserve('reserved_domains', { domain: `not${name}` }, other.client);
  });

  it('and an address at it belong to one account', async () => {
    const [name, second] = [newDomain(), newDomain()];
    await reserve('reserved_domains', { domain: `*.${name}` });
    const addr = `x.${name}:443`;
    await expectRefusal(
      () => other.client.post('/reserved_addrs', { addr }),
      ...CONFLICT,
      /another account has reserved/,
    );
    await reserve('reserved_addrs', { addr });
    await reserve('reserved_addrs', { addr: `y.${second}:443` }, other.client);
    for (const domain of [`y.${second}`, `*.${second}`]) {
      await expectRefusal(() => admin.post('/reserved_domains', { domain }), ...CONFLICT, /overlaps/);
    }
    await reserve('reserved_domains', { domain: `y.${second}` }, other.client);
  });

  it('and what overlaps it have one winner of two accounts, each time they race', async () => {
    for (let round = 0; round < 30; round += 1) {
      const name = newDomain();
      const answers = await Promise.all([
        admin.post('/reserved_domains', { domain: `*.${name}` }),
        other.client.post('/reserved_domains', { domain: `x.${name}` }),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    }
  });
});

it.each([
  ['reserved_addrs', () => ({ addr: newAddr() })],
  ['reserved_domains', () => ({ domain: newDomain() })],
] as const)('%s have ETags, moments and repetitions as every resource', async (path, bodyOf) => {
  const once = { 'idempotency-key': `once-${path}` };
  const body = bodyOf();
  const first = await admin.post(`/${path}`, body, once);
  expect((await admin.post(`/${path}`, body, once)).body).toEqual(first.body);
  const one = `/${path}/${first.body.id}`;
  const etag = first.headers.get('etag') ?? '';
  expect((await admin.get(one, { 'if-none-match': etag })).status).toBe(304);
  expect((await admin.patch(one, { description: 'new' }, { 'if-match': etag })).status).toBe(200);
  expect((await admin.patch(one, { description: 'lost' }, { 'if-match': etag })).status).toBe(412);
  expect((await admin.delete(one, { 'if-match': etag })).status).toBe(412);
  expect((await admin.get(`${one}?as_of=${first.headers.get('log-position')}`)).body).toEqual(first.body);
  expect((await admin.get(one)).body.description).toBe('new');
});

describe('what rests', () => {
  const remove = async (path: 'reserved_addrs' | 'reserved_domains', { id }: { readonly id: string }) =>
    expect((await admin.delete(`/${path}/${id}`)).status).toBe(204);

  it.each([
    ['an address of it', (name: string) => [`${name}:22`, name]],
    ['an address under it', (name: string) => [`x.${name}:22`, `*.${name}`]],
    ['the domain of its host', (name: string) => [name, `${name}:22`]],
    ['a wildcard over its host', (name: string) => [`*.${name}`, `x.y.${name}:22`]],
    ['a name under it', (name: string) => [`x.${name}`, `*.${name}`]],
  ])('keeps other accounts from a name while %s rests, and its own account not', async (_, names) => {
    const [deleted = '', wanted = ''] = names(newDomain());
    const pathOf = (name: string) => (name.includes(':') ? 'reserved_addrs' : 'reserved_domains');
    const bodyOf = (name: string) => (name.includes(':') ? { addr: name } : { domain: name });
    await remove(pathOf(deleted), await reserve(pathOf(deleted), bodyOf(deleted)));
    const attempt = () => other.client.post(`/${pathOf(wanted)}`, bodyOf(wanted));
    await expectRefusal(attempt, ...CONFLICT, /rests until 20/);
    await reserve(pathOf(wanted), bodyOf(wanted));
  });

  it('is known to whoever waits for its deletion', async () => {
    for (let round = 0; round < 20; round += 1) {
      const addr = newAddr();
      const reserved = await reserve('reserved_addrs', { addr });
      const deletion = remove('reserved_addrs', reserved);
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => other.client.post('/reserved_addrs', { addr })),
      );
      await deletion;
      expect(answers.map(({ status }) => status)).toEqual([409, 409, 409, 409]);
    }
  });

  it('keeps the time that it had at its deletion, whatever the settings say later', async () => {
    const hasty = await startCopy(service, { ...SETTINGS, reservationRestMs: 0 });
    const [slow, fast] = [newAddr(), newAddr()];
    await remove('reserved_addrs', await reserve('reserved_addrs', { addr: slow }));
    const { id } = await reserve('reserved_addrs', { addr: fast }, hasty.admin);
    await hasty.admin.delete(`/reserved_addrs/${id}`);
    const theirs = [other.client, new ApiClient(hasty.app.url, other.client.token)];
    for (const client of theirs) {
      expect(await client.post('/reserved_addrs', { addr: slow })).toMatchObject({ status: 409 });
    }
    await reserve('reserved_addrs', { addr: fast }, other.client);
    await hasty.stop();
  });

  it('counts for the maximum of its account, until it is reserved again', async () => {
    const small = await startService({ ...GATEWAY, maxReservations: 2 });
    const { id, addr } = await reserve('reserved_addrs', { addr: 'a.example.com:1' }, small.admin);
    await reserve('reserved_addrs', { addr: 'a.example.com:2' }, small.admin);
    await small.admin.delete(`/reserved_addrs/${id}`);
    const refused = await small.admin.post('/reserved_addrs', { addr: 'a.example.com:3' });
    expect(refused).toMatchObject({ status: 409, body: { msg: expect.stringContaining('that rest') } });
    const again = await reserve('reserved_addrs', { addr }, small.admin);
    expect((await small.pool.query('select from resting_names')).rowCount).toBe(0);
    expect((await small.admin.delete(`/reserved_addrs/${again.id}`)).status).toBe(204);
    await small.stop();
  });

  it('goes from the table ten minutes after its end, 100 rows at each deletion', async () => {
    const left = async () => {
      const { rows } = await service.pool.query(`select count(*)::int as n from resting_names where name like 'old-%'`);
      return rows[0].n;
    };
    await service.pool.query(
      `insert into resting_names select 'old-' || n, $1, now() - interval '11 minutes' from generate_series(1, 150) n`,
      [other.accountId],
    );
    await remove('reserved_addrs', await reserve('reserved_addrs', { addr: newAddr() }));
    expect(await left()).toBe(50);
    await remove('reserved_addrs', await reserve('reserved_addrs', { addr: newAddr() }));
    expect(await left()).toBe(0);
  });
});

describe('the maximum of an account', () => {
  it('counts addresses and domains together, and other accounts not', async () => {
    const small = await startService({ ...GATEWAY, maxReservations: 3 });
    const stranger = await addAccount(small);
    await reserve('reserved_domains', { domain: 'a.example.com' }, stranger.client);
    for (const port of [1, 2]) await reserve('reserved_addrs', { addr: `b.example.com:${port}` }, small.admin);
    await reserve('reserved_domains', { domain: 'c.example.com' }, small.admin);
    for (const [path, body] of [
      ['/reserved_addrs', { addr: 'b.example.com:3' }],
      ['/reserved_domains', { domain: 'd.example.com' }],
    ] as const) {
      const answer = await small.admin.post(path, body);
      expect(answer).toMatchObject({ status: 409, body: { msg: expect.stringContaining('MAX_RESERVATIONS') } });
    }
    const noPool = await small.admin.post('/reserved_addrs', {});
    expect(noPool).toMatchObject({ status: 400, body: { msg: expect.stringContaining('ADDRESS_POOL') } });
    await small.stop();
  });
});

it('batches that reserve in both tables at two instances never wait for each other in a circle', async () => {
  const copy = await startCopy(service, SETTINGS);
  const theirs = new ApiClient(copy.app.url, other.client.token);
  // The locks of names in two halves: one account takes those of its addresses in the one, the other account in the other.
  const { rows: names } = await service.pool.query(
    `select name, abs(hashtext(name) % 256) < 128 as "isLow" from (select 'circle-' || n || '.test' as name from generate_series(1, 1200) n) names`,
  );
  const [low, high] = [true, false].map((half) => names.filter(({ isLow }) => isLow === half).map(({ name }) => name));
  for (let round = 0; round < 12; round += 1) {
    const takeOf = (from: string[] = []) => from.splice(0, 20);
    const reserveAll = (client: ApiClient, addrs: string[], domains: string[]) => [
      ...addrs.map((name) => client.post('/reserved_addrs', { addr: `${name}:1` })),
      ...domains.map((domain) => client.post('/reserved_domains', { domain })),
    ];
    const answers = await Promise.all([
      ...reserveAll(admin, takeOf(low), takeOf(high)),
      ...reserveAll(theirs, takeOf(high), takeOf(low)),
    ]);
    expect(answers.filter(({ status }) => status !== 201)).toEqual([]);
  }
  const flush = [service, copy].flatMap(({ pool }) =>
    Array.from({ length: pool.options.max }, () => pool.query('select pg_stat_force_next_flush(), pg_sleep(0.1)')),
  );
  await Promise.all(flush);
  const { rows } = await service.pool.query(
    'select deadlocks::int from pg_stat_database where datname = current_database()',
  );
  expect(rows).toEqual([{ deadlocks: 0 }]);
  await copy.stop();
});
