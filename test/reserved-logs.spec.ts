import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { provenOf } from './support/found.js';
import { addAccount, type TestPrincipal } from './support/principals.js';
import { runCli, runCliOn } from './support/process.js';
import { repaired } from './support/repaired.js';
import { type Service, startService } from './support/service.js';

/** The reservations of an account leave a deployment with its log, and meet those of another one. */
let service: Service;
let elsewhere: Service;
let ours: TestPrincipal;
let theirs: TestPrincipal;
let one: string;
let all: string;

const exported = async (...args: string[]): Promise<string> =>
  (await runCli({ DATABASE_URL: service.databaseUrl }, 'audit', 'export', ...args)).stdout;
const importing = (file: string) => runCliOn(file, { DATABASE_URL: elsewhere.databaseUrl }, 'audit', 'import', '-');
const rows = async ({ pool }: Service): Promise<string[]> => {
  const text = `select t::text as row from reserved_addrs t where account_id = $1 union all
    select t::text from reserved_domains t where account_id = $1 order by 1`;
  return (await pool.query(text, [ours.accountId])).rows.map(({ row }) => row);
};

beforeAll(async () => {
  service = await startService();
  ours = await addAccount(service);
  elsewhere = await startService({ bootstrapApiKey: 'another-admin-key-0123456789' });
  theirs = await addAccount(elsewhere);
  for (const addr of ['camera.example.com:22', 'gone.example.com:22'])
    await ours.client.post('/reserved_addrs', { addr });
  for (const domain of ['*.Shop.example.com', 'b\u00fcro.example.org'])
    await ours.client.post('/reserved_domains', { domain });
  const { body } = await ours.client.get('/reserved_addrs');
  await ours.client.delete(`/reserved_addrs/${body.reserved_addrs[0].id}`);
  one = await exported('--account', ours.accountId);
  all = await exported('--all');
});
afterAll(async () => {
  await elsewhere.stop();
  await service.stop();
});

describe('an import', () => {
  it.each([
    ['the same address', 'reserved_addrs', { addr: 'CAMERA.example.com:22' }, 'reserved_addrs_addr'],
    ['the same domain', 'reserved_domains', { domain: 'xn--bro-hoa.example.org' }, 'reserved_domains_domain'],
    ['a domain under a wildcard', 'reserved_domains', { domain: 'x.shop.example.com' }, 'reserved_elsewhere'],
    ['the host of an address', 'reserved_domains', { domain: 'camera.example.com' }, 'reserved_elsewhere'],
    ['an address under a wildcard', 'reserved_addrs', { addr: 'x.shop.example.com:1' }, 'reserved_elsewhere'],
  ])('is refused as a whole if another account has reserved %s', async (_, path, body, constraint) => {
    const { id } = (await theirs.client.post(`/${path}`, body)).body;
    for (const file of [one, all]) {
      expect(await importing(file)).toEqual({
        code: 3,
        stdout: '',
        stderr: expect.stringContaining(
          `${constraint} is violated: another account of this database has the same value, or one that excludes it\n`,
        ),
      });
      expect(await rows(elsewhere)).toEqual([]);
    }
    expect((await theirs.client.delete(`/${path}/${id}`)).status).toBe(204);
  });

  it('makes the reservations of the log, and none of what it deleted', async () => {
    expect(await importing(one)).toMatchObject({ code: 0 });
    expect(await rows(elsewhere)).toEqual(await rows(service));
    expect(await rows(elsewhere)).toHaveLength(3);
    for (const body of [{ domain: 'y.shop.example.com' }, { domain: 'B\u00dcRO.example.org' }]) {
      expect((await theirs.client.post('/reserved_domains', body)).status).toBe(409);
    }
    // No event says what rests.
    expect((await theirs.client.post('/reserved_addrs', { addr: 'gone.example.com:22' })).status).toBe(201);
  });

  it('locks no more than a transaction can, however many names it has', async () => {
    const client = await elsewhere.pool.connect();
    const insert = `insert into reserved_domains (account_id, id, version, created_at, description, metadata, domain, text, region)
      select $1, 'rd_' || n, 1, now(), '', '', 'a.name' || n || '.com', '', '' from generate_series(1, 2000) n`;
    await client.query('begin');
    await client.query(insert, [ours.accountId]);
    const held = `select count(*)::int as n from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'`;
    const [{ n }] = (await client.query(held)).rows;
    await client.query('rollback');
    client.release();
    expect(n).toBeGreaterThan(100);
    expect(n).toBeLessThanOrEqual(256);
  });
});

describe('a repair', () => {
  const taken = async (path: string, body: object): Promise<string> =>
    (await theirs.client.post(`/${path}`, body)).body.id;

  it('gives a name back to its account, which a row of another account has taken, and lets none of them rest', async () => {
    const domain = await taken('reserved_domains', { domain: 'theirs.example.com' });
    const { pool, app } = elsewhere;
    const resting = async () => (await pool.query('select name from resting_names order by 1')).rows;
    const before = await resting();
    const edit = async (text: string, values: string[]): Promise<void> => {
      const client = await pool.connect();
      await client.query(`begin; set local tunnel_access.repair = 'on'`);
      await client.query(text, values);
      await client.query('commit');
      client.release();
    };
    // A name of ours for theirs, a wildcard of theirs over an address of ours, and an address that is lost.
    const text = `with stolen as (delete from reserved_domains where account_id = $1 and domain = 'xn--bro-hoa.example.org')
      update reserved_domains set domain = '*.example.com' where id = $2`;
    await edit(text, [ours.accountId, domain]);
    await edit('delete from reserved_addrs where account_id = $1', [ours.accountId]);
    const { differences } = await provenOf(app.database);
    expect(differences.map(({ table }) => table).sort()).toEqual([
      'reserved_addrs',
      'reserved_domains',
      'reserved_domains',
    ]);
    await repaired(app.database);
    expect(await provenOf(app.database)).toMatchObject({ differences: [] });
    expect(await rows(elsewhere)).toEqual(await rows(service));
    expect(await resting()).toEqual(before);
  });
});
