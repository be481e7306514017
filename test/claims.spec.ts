import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { EdgesByHostport } from '../src/api/tcp-edges/tcp-edges.read-model.js';
import { ApiClient } from './support/api-client.js';
import { withoutClaims } from './support/claims.js';
import { eventually } from './support/eventually.js';
import { provenOf } from './support/found.js';
import { newPublicKey } from './support/keys.js';
import { addAccount, type TestPrincipal } from './support/principals.js';
import { runCli } from './support/process.js';
import { refusalsOf } from './support/refusals.js';
import { repaired } from './support/repaired.js';
import { type Service, startCopy, startService } from './support/service.js';

let service: Service;
/** Another instance on the same database. */
let copy: Service;
let ours: TestPrincipal;
let theirs: TestPrincipal;
beforeAll(async () => {
  service = await startService();
  copy = await startCopy(service);
});
beforeEach(async () => {
  [ours, theirs] = [await addAccount(service), await addAccount(service)];
});
afterAll(async () => {
  await copy.stop();
  await service.stop();
});

const { expectRefusal } = refusalsOf(() => service);

let used = 0;
/** A hostport that no other test uses. */
const fresh = (): string => {
  used += 1;
  return `claimed${used}.example:443`;
};

const edge = async (hostports: readonly string[], by = ours): Promise<string> => {
  const answer = await by.client.post('/edges/tcp', { hostports });
  expect(answer).toMatchObject({ status: 201 });
  return `/edges/tcp/${answer.body.id}`;
};

const TAKEN = { status: 409, body: { error_code: 'ERR_NGROK_7122' } };

describe('a hostport belongs to one account', () => {
  it('an edge of another account that lists it in any spelling is refused with its name, and is not stored', async () => {
    const [hostport, free] = [fresh(), fresh()];
    await edge([hostport]);
    const spelling = hostport.toUpperCase().replace(':', '.:');
    const msg = new RegExp(`^hostports\\[1\\] '${spelling}' is already used by an edge of another account\\.$`);
    const post = () => theirs.client.post('/edges/tcp', { hostports: [free, spelling] });
    await expectRefusal(post, 409, 'ERR_NGROK_7122', msg);
    const own = await edge([free], theirs);
    const patch = () => theirs.client.patch(own, { hostports: [free, spelling] });
    await expectRefusal(patch, 409, 'ERR_NGROK_7122', msg);
  });

  it('any number of its edges may list it, and it is free once the last of them does not', async () => {
    const hostport = fresh();
    const [first, second, third] = [await edge([hostport, hostport]), await edge([hostport]), await edge([hostport])];
    const take = () => theirs.client.post('/edges/tcp', { hostports: [hostport] });
    await ours.client.delete(first);
    expect(await take()).toMatchObject(TAKEN);
    await ours.client.patch(second, { hostports: [] });
    expect(await take()).toMatchObject(TAKEN);
    await ours.client.patch(third, { hostports: [hostport.toUpperCase()] });
    expect(await take()).toMatchObject(TAKEN);
    await ours.client.delete(third);
    expect((await take()).status).toBe(201);
    expect(await ours.client.post('/edges/tcp', { hostports: [hostport] })).toMatchObject(TAKEN);
  });

  it('accounts that had it in common before keep it, edit their edges, and get no further edge with it', async () => {
    const [hostport, other] = [fresh(), fresh()];
    const mine = await edge([hostport]);
    const foreign = await withoutClaims(service.pool, [hostport], () => edge([hostport, other], theirs));
    const { stdout } = await runCli({ DATABASE_URL: service.databaseUrl }, 'doctor');
    expect(stdout).toMatch(`warning  claims      2 accounts have edges that list ${hostport} (`);
    for (const [path, { client }] of [[mine, ours] as const, [foreign, theirs] as const]) {
      expect((await client.patch(path, { description: 'x', hostports: [hostport] })).status).toBe(200);
      expect(await client.post('/edges/tcp', { hostports: [hostport] })).toMatchObject(TAKEN);
    }
    await ours.client.delete(mine);
    expect(await ours.client.post('/edges/tcp', { hostports: [hostport] })).toMatchObject(TAKEN);
    await theirs.client.delete(foreign);
    await edge([hostport]);
    expect((await provenOf(service.app.database, {})).proof.differences).toBe(0);
  });

  it('of its edges, the one that listed it first comes first, whatever their age, until it does not list it', async () => {
    const [hostport, other] = [fresh(), fresh()];
    const paths = [await edge([other]), await edge([hostport]), await edge([])];
    const [older = '', first = '', young = ''] = paths;
    for (const path of [young, older]) await ours.client.patch(path, { hostports: [hostport] });
    const ids = async () => {
      const edges = await new EdgesByHostport(service.pool).at(hostport);
      return edges.ids.map((id) => `/edges/tcp/${id}`);
    };
    expect(await ids()).toEqual([first, young, older]);
    await ours.client.patch(first, { hostports: [other, hostport.toUpperCase()] });
    expect(await ids()).toEqual([first, young, older]);
    await ours.client.patch(first, { hostports: [] });
    await ours.client.patch(first, { hostports: [hostport] });
    expect(await ids()).toEqual([young, older, first]);
  });
});

describe('when two accounts race on two instances', () => {
  const clientsOf = (count: number): { client: ApiClient; of: number }[] =>
    Array.from({ length: count }, (_, n) => {
      const url = [service.app.url, copy.app.url][(n >> 1) % 2] as string;
      return { client: new ApiClient(url, [ours, theirs][n % 2]?.client.token ?? ''), of: n % 2 };
    });

  it('64 clients for 160 hostports: each has one account, and the proof agrees', async () => {
    const clients = clientsOf(64);
    const wanted = Array.from({ length: 160 }, fresh);
    await Promise.all(clients.map(({ client }) => client.get('/edges/tcp')));
    const winners = new Map<string, Set<number>>(wanted.map((hostport) => [hostport, new Set()]));
    const take = async (hostport: string, { client, of }: (typeof clients)[number]): Promise<void> => {
      const { status } = await client.post('/edges/tcp', { hostports: [hostport] });
      expect([201, 409]).toContain(status);
      if (status === 201) winners.get(hostport)?.add(of);
    };
    /** Eight clients go for a hostport at once, one after the other of them first. */
    const run = async (group: number): Promise<void> => {
      const own = clients.slice(8 * group, 8 * group + 8);
      for (let at = group; at < wanted.length; at += 8) {
        const first = (at >> 3) % 8;
        const inTurn = [...own.slice(first), ...own.slice(0, first)];
        await Promise.all(inTurn.map((client) => take(wanted[at] ?? '', client)));
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, group) => run(group)));
    expect([...winners.values()].filter(({ size }) => size !== 1)).toEqual([]);
    expect(new Set([...winners.values()].flatMap((accounts) => [...accounts])).size).toBe(2);
    expect((await provenOf(service.app.database, {})).proof.differences).toBe(0);
  });

  it('for a public key: one account gets it', async () => {
    const clients = clientsOf(16);
    await Promise.all(clients.map(({ client }) => client.get('/ssh_credentials')));
    for (let round = 0; round < 20; round += 1) {
      const body = { public_key: newPublicKey() };
      const answers = await Promise.all(clients.map(({ client }) => client.post('/ssh_credentials', body)));
      expect(new Set(clients.filter((_, n) => answers[n]?.status === 201).map(({ of }) => of)).size).toBe(1);
      const refused = answers.filter(({ status }) => status !== 201);
      expect(refused).toHaveLength(8);
      for (const answer of refused)
        expect(answer).toMatchObject({ status: 409, body: { error_code: 'ERR_NGROK_610' } });
    }
  });
});

it('one claim of a value is exclusive, also if another account claims it while the exclusive claim goes', async () => {
  const leaving = new pg.Client(service.databaseUrl);
  await leaving.connect();
  await leaving.query(`insert into claims values ('key:shared', 'ac_leaves', 1, true)`);
  await leaving.query(`begin; delete from claims where account_id = 'ac_leaves'`);
  const coming = service.pool.query(`insert into claims values ('key:shared', 'ac_stays', 1, false)`);
  const waits = `select from pg_stat_activity where query like 'insert into claims%' and wait_event_type = 'Lock'`;
  await eventually(async () => expect((await service.pool.query(waits)).rowCount).toBe(1));
  await leaving.query('commit');
  await leaving.end();
  await coming;
  const gone = await service.pool.query(
    `delete from claims where value = 'key:shared' returning account_id, exclusive`,
  );
  expect(gone.rows).toEqual([{ account_id: 'ac_stays', exclusive: true }]);
});

describe('projections', () => {
  it('prove names each claim that is not that of the log, also where rows differ, and repair mends both', async () => {
    const [right, lost, alone, common, miscounted] = [fresh(), fresh(), fresh(), fresh(), fresh()];
    const path = await edge([right, lost, alone, common, miscounted]);
    await withoutClaims(service.pool, [common], () => edge([common], theirs));
    const key = await ours.client.post('/ssh_credentials', { public_key: newPublicKey() });
    const value = (hostport: string): string => `hostport:${hostport}`;
    const edit = (text: string, ...values: unknown[]) => service.pool.query(text, values);
    await edit('delete from tcp_edge_hostports where hostport = any ($1)', [right, lost]);
    await edit(`update ssh_credentials set fingerprint = 'SHA256:x' where id = $1`, key.body.id);
    await edit('delete from claims where value = $1', value(lost));
    await edit('update claims set holders = 7 where value = $1', value(miscounted));
    await edit(`insert into claims values ('key:none', 'ac_none', 1, true)`);
    await edit('update claims set exclusive = false where value = any ($1)', [value(alone), value(common)]);
    const { differences } = await provenOf(service.app.database, {});
    const id = path.slice('/edges/tcp/'.length);
    const [first] = [ours.accountId, theirs.accountId].sort();
    const found = differences.map(({ table, account, key, field, live, log }) => [
      table,
      account,
      key,
      field,
      live,
      log,
    ]);
    expect(found.sort()).toEqual(
      [
        ['ssh_credentials', ours.accountId, key.body.id, 'fingerprint', '"SHA256:x"', expect.any(String)],
        ['tcp_edge_hostports', ours.accountId, `${id} ${right}`, '(row)', 'not there', 'there'],
        ['tcp_edge_hostports', ours.accountId, `${id} ${lost}`, '(row)', 'not there', 'there'],
        ['claims', ours.accountId, value(lost), 'holders', 'NULL', '1'],
        ['claims', ours.accountId, value(miscounted), 'holders', '7', '1'],
        ['claims', 'ac_none', 'key:none', 'holders', '1', 'NULL'],
        ['claims', ours.accountId, value(alone), 'exclusive', 'false', 'true'],
        ['claims', first, value(common), 'exclusive', 'false', 'true'],
      ].sort(),
    );
    await repaired(service.app.database);
    expect((await provenOf(service.app.database, {})).proof.differences).toBe(0);
    expect(await theirs.client.post('/edges/tcp', { hostports: [lost] })).toMatchObject(TAKEN);
  });
});
