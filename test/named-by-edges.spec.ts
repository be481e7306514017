import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { READ_MODELS } from '../src/api/read-models.js';
import type { Answer } from './support/api-client.js';
import { ApiClient } from './support/api-client.js';
import { addAccount, type TestPrincipal } from './support/principals.js';
import { refusalsOf } from './support/refusals.js';
import { expectRowsToBeTheFoldOfTheLog } from './support/replay.js';
import { type Service, startCopy, startService } from './support/service.js';

/** Two strict instances on one database. A change of one does not wait in the queue of the other. */
let service: Service;
let second: Awaited<ReturnType<typeof startCopy>>;
let account: TestPrincipal;
let admin: ApiClient;
let there: ApiClient;
beforeAll(async () => {
  service = await startService({ strict: true });
  second = await startCopy(service, { strict: true });
  account = await addAccount(service);
  admin = account.client;
  there = new ApiClient(second.app.url, admin.token);
});
afterAll(async () => {
  await second.stop();
  await service.stop();
});

const { expectRefusal } = refusalsOf(() => service);

/** What an edge names, by the list of its path, and the change of an edge that names it. */
const NAMED = [
  {
    noun: 'IP policy',
    path: '/ip_policies',
    naming: (id: string) => ({ ip_restriction: { ip_policy_ids: ['ipp_x', id] } }),
  },
  { noun: 'tunnel group', path: '/backends/tunnel_group', naming: (id: string) => ({ backend: { backend_id: id } }) },
];

const pathOf = async (path: string, body: object = {}): Promise<string> =>
  `${path}/${(await admin.post(path, body)).body.id}`;
const idIn = (path: string): string => path.split('/').at(-1) ?? '';

/** Sends both while no append of the account can be written, the second when the first waits. Returns both answers. */
async function inOrder(first: () => Promise<Answer>, then: () => Promise<Answer>): Promise<[Answer, Answer]> {
  const holder = new pg.Client(service.databaseUrl);
  await holder.connect();
  const waiting = async (n: number): Promise<void> => {
    for (let found = 0; found < n; ) {
      const { rows } = await holder.query(
        `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
      );
      found = rows[0].n;
    }
  };
  try {
    await holder.query('begin');
    await holder.query('select 1 from log_heads where account_id = $1 for update', [account.accountId]);
    const earlier = first();
    await waiting(1);
    const later = then();
    // The statistics of a transaction are one snapshot.
    await holder.query('select pg_stat_clear_snapshot()');
    await waiting(2);
    await holder.query('commit');
    return [await earlier, await later];
  } finally {
    await holder.end();
  }
}

describe.each(NAMED)('in strict mode the $noun that an edge names', ({ noun, path, naming }) => {
  it('is not deleted until no edge names it, also by a disabled module', async () => {
    const named = await pathOf(path);
    const [[module = '', fields] = []] = Object.entries(naming(idIn(named)));
    const edge = await pathOf('/edges/tcp', { [module]: { ...fields, enabled: false } });
    const msg = new RegExp(`^The TCP edge '${idIn(edge)}' names this ${noun}; change the edge first\\.$`);
    await expectRefusal(() => admin.delete(named), 409, 'ERR_TAS_409', msg);
    // It comes before If-Match.
    await expectRefusal(() => admin.delete(named, { 'if-match': '"7"' }), 409, 'ERR_TAS_409', msg);
    await admin.delete(`${edge}/${module}`);
    expect((await admin.delete(named)).status).toBe(204);
  });

  it('is not deleted by a deletion that was decided before the edge named it', async () => {
    const [named, edge] = [await pathOf(path), await pathOf('/edges/tcp')];
    const [patched, deleted] = await inOrder(
      () => admin.patch(edge, naming(idIn(named))),
      () => there.delete(named),
    );
    expect([patched.status, deleted.status]).toEqual([200, 409]);
    expect((await admin.get(named)).status).toBe(200);
  });

  it('may be named after its deletion, as any id may', async () => {
    const [named, edge] = [await pathOf(path), await pathOf('/edges/tcp')];
    const [deleted, patched] = await inOrder(
      () => admin.delete(named),
      () => there.patch(edge, naming(idIn(named))),
    );
    expect([deleted.status, patched.status]).toEqual([204, 200]);
  });

  it('is deleted although an edge of another account names it', async () => {
    const named = await pathOf(path);
    expect((await service.admin.post('/edges/tcp', naming(idIn(named)))).status).toBe(201);
    expect((await admin.delete(named)).status).toBe(204);
  });
});

describe('a rule and the deletion of its policy that are decided at once', () => {
  const rule = (policy: string) => ({ ip_policy_id: idIn(policy), cidr: '192.0.2.0/24', action: 'deny' });

  it('are both made if the rule is first: it is deleted with the policy', async () => {
    const policy = await pathOf('/ip_policies');
    const [created, deleted] = await inOrder(
      () => admin.post('/ip_policy_rules', rule(policy)),
      () => there.delete(policy),
    );
    expect([created.status, deleted.status]).toEqual([201, 204]);
    expect((await admin.get(`/ip_policy_rules/${created.body.id}`)).status).toBe(404);
  });

  it('leave no rule if the deletion is first', async () => {
    const policy = await pathOf('/ip_policies');
    const [deleted, created] = await inOrder(
      () => admin.delete(policy),
      () => there.post('/ip_policy_rules', rule(policy)),
    );
    expect([deleted.status, created.status, created.body.error_code]).toEqual([204, 400, 'ERR_NGROK_1414']);
  });

  it('many at once, on two instances, leave no rule without a policy', async () => {
    for (let round = 0; round < 5; round += 1) {
      const policy = await pathOf('/ip_policies');
      const body = rule(policy);
      const creates = [admin, there, admin, there].map((client, n) =>
        client.post('/ip_policy_rules', { ...body, cidr: `192.0.2.${n}` }),
      );
      const [deleted, ...created] = await Promise.all([there.delete(policy), ...creates]);
      expect(deleted.status).toBe(204);
      for (const { status } of created) expect([201, 400]).toContain(status);
    }
    const { rows } = await service.pool.query(
      'select id from ip_policy_rules r where not exists (select from ip_policies p where p.id = r.ip_policy_id)',
    );
    expect(rows).toEqual([]);
  });
});

it('after all this the rows are the fold of the log', async () => {
  for (const model of READ_MODELS) await expectRowsToBeTheFoldOfTheLog(service.pool, model);
});
