import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import pg from 'pg';
import { BindDecisionMetrics } from '../src/api/gateway-api/decision-record/bind-decision-metrics.js';
import { BindDecisionQueue } from '../src/api/gateway-api/decision-record/bind-decision-queue.js';
import { RecordRetention } from '../src/api/gateway-api/records/record-retention.js';
import { IdSource } from '../src/kernel/ids.js';
import { startSwallowingProxy } from './support/answer-swallowing-proxy.js';
import { ApiClient } from './support/api-client.js';
import { holdWrites, metric, type TestCredential, untilWritten, upload } from './support/decisions.js';
import { takeErrorLines } from './support/error-lines.js';
import { newPublicKey } from './support/keys.js';
import { addAccount, addBot, addUser, type TestPrincipal } from './support/principals.js';
import { refusalsOf } from './support/refusals.js';
import { GATEWAY, type Service, startCopy, startService } from './support/service.js';

let service: Service;
let gateway: ApiClient;
/** A new account for each test, so that it has only the decisions of the test. */
let tenant: TestPrincipal;

beforeAll(async () => {
  service = await startService(GATEWAY);
  gateway = service.gateway;
});
afterAll(() => service.stop());
beforeEach(async () => {
  tenant = await addAccount(service);
});

const { expectRefusal } = refusalsOf(() => service);

const DOMAIN = { domain: 'app.example.com' };
const UNKNOWN_FINGERPRINT = `SHA256:${'A'.repeat(43)}`;
const DAY_MS = 86_400_000;

const credentialOf = (body: object = {}, { client }: TestPrincipal = tenant): Promise<TestCredential> =>
  upload(service, client, { public_key: newPublicKey(), ...body });

const ask = (fingerprint: string, target: object = DOMAIN, client: ApiClient = gateway) =>
  client.post('/ssh_gateway/authorize', { fingerprint, target, source: '203.0.113.9' });

const recorded = async ({ client }: TestPrincipal = tenant, query = '') => {
  await untilWritten(gateway);
  return (await client.get(`/bind_decisions${query}`)).body.bind_decisions;
};

const rowsOf = async (fingerprint: string) => {
  const { rows } = await service.pool.query('select * from bind_decisions where fingerprint = $1 order by id', [
    fingerprint,
  ]);
  return rows;
};

const lastUsedAt = async ({ id }: TestCredential) =>
  (await tenant.client.get(`/ssh_credentials/${id}/usage`)).body.last_used_at;

describe('GET /bind_decisions', () => {
  it('has every decision once, newest first, with its request, credential and rule', async () => {
    const credential = await credentialOf({ acl: ['bind:app.example.com', 'bind:k=v'] });
    const before = Date.now();
    await ask(credential.fingerprint, { domain: 'APP.example.com.' });
    await ask(credential.fingerprint, [{ address: '[2001:db8:0::1]:80' }, { label: { key: 'k', value: 'v' } }]);
    const common = {
      credential_id: credential.id,
      version: 1,
      owner_id: tenant.id,
      fingerprint: credential.fingerprint,
      gateway: '127.0.0.1',
      gateway_name: null,
      source: '203.0.113.9',
      id: expect.stringMatching(/^bd_[0-9A-Za-z]{27}$/),
      decided_at: expect.any(String),
      log_position: expect.any(Number),
      read_at: expect.any(String),
    };
    const permitted = { ...common, allowed: true, reason: 'permitted', needs: null };
    const found = await recorded();
    expect(found).toEqual([
      { ...permitted, matched_rule: 'bind:k=v', rule_index: 1, target: { label: { key: 'k', value: 'v' } } },
      {
        ...common,
        allowed: false,
        reason: 'not_permitted',
        matched_rule: null,
        needs: 'bind:[2001:db8::1]:80',
        rule_index: null,
        target: { address: '[2001:db8::1]:80' },
      },
      { ...permitted, matched_rule: 'bind:app.example.com', rule_index: 0, target: DOMAIN },
    ]);
    for (const { decided_at } of found) {
      expect(Date.parse(decided_at)).toBeGreaterThanOrEqual(before);
      expect(Date.parse(decided_at)).toBeLessThanOrEqual(Date.now());
    }
  });

  it('records null for a source that the gateway did not send, and the id of an inactive owner', async () => {
    const user = await addUser(service, 'member', tenant.client);
    const { id, fingerprint } = await credentialOf({}, user);
    await tenant.client.patch(`/users/${user.id}`, { active: false });
    await gateway.post('/ssh_gateway/authorize', { fingerprint, target: DOMAIN });
    const [decision] = await recorded();
    expect(decision).toMatchObject({ reason: 'owner_inactive', credential_id: id, owner_id: user.id, source: null });
  });

  it('is for admins of the account, and shows only decisions of the account', async () => {
    const [member, bot] = [await addUser(service, 'member', tenant.client), await addBot(service, tenant.client)];
    const { fingerprint } = await credentialOf();
    await ask(fingerprint);
    expect(await recorded()).toHaveLength(1);
    for (const { client } of [member, bot]) {
      await expectRefusal(() => client.get('/bind_decisions'), 403, 'ERR_NGROK_635', /Only admins/);
    }
    const other = await addAccount(service);
    expect(await recorded(other)).toEqual([]);
    const { id } = (await tenant.client.get('/ssh_credentials')).body.ssh_credentials[0];
    expect(await recorded(other, `?credential_id=${id}`)).toEqual([]);
  });

  it('pages through all decisions, and through those of one credential', async () => {
    const [one, two] = [await credentialOf(), await credentialOf()];
    for (let n = 0; n < 5; n += 1) {
      await ask(one.fingerprint);
      await ask(two.fingerprint);
    }
    const all = (await recorded()).map(({ id }: { id: string }) => id);
    expect(all).toHaveLength(10);
    expect(await tenant.client.pages('/bind_decisions?limit=3', 'bind_decisions')).toEqual([
      all.slice(0, 3),
      all.slice(3, 6),
      all.slice(6, 9),
      all.slice(9),
    ]);
    const ofOne = await tenant.client.pages(`/bind_decisions?limit=2&credential_id=${one.id}`, 'bind_decisions');
    expect(ofOne.map((page) => page.length)).toEqual([2, 2, 1]);
    expect(ofOne.flat()).toEqual((await recorded(tenant, `?credential_id=${one.id}`)).map((d: { id: string }) => d.id));
  });

  it('selects by time, answer, reason, owner and target, in any combination', async () => {
    const bot = await addBot(service, tenant.client);
    const [own, other] = [
      await credentialOf({ acl: ['bind:app.example.com', 'bind:127.0.0.1:80', 'bind:team=blue'] }),
      await credentialOf({}, bot),
    ];
    for (const target of [
      DOMAIN,
      { address: '127.0.0.1:80' },
      { label: { key: 'team', value: 'blue' } },
      { domain: 'no.example.com' },
    ])
      await ask(own.fingerprint, target);
    await ask(other.fingerprint);
    const all = await recorded();
    const find = async (query: object) => {
      const text = new URLSearchParams(query as Record<string, string>);
      const { body } = await tenant.client.get(`/bind_decisions?${text}`);
      expect(body.next_page_uri).toBeNull();
      return body.bind_decisions.map(({ id }: { readonly id: string }) =>
        all.findIndex((one: { readonly id: string }) => one.id === id),
      );
    };
    const [newest] = all;
    expect(await find({ allowed: 'false' })).toEqual([1]);
    expect(await find({ allowed: 'true' })).toEqual([0, 2, 3, 4]);
    expect(await find({ reason: 'not_permitted' })).toEqual([1]);
    expect(await find({ owner_id: bot.id })).toEqual([0]);
    expect(await find({ target: 'app.example.com' })).toEqual([0, 4]);
    expect(await find({ target: '127.0.0.1:80' })).toEqual([3]);
    expect(await find({ target: 'team=blue', allowed: 'true', owner_id: tenant.id })).toEqual([2]);
    expect(await find({ credential_id: own.id, target: 'app.example.com' })).toEqual([4]);
    expect(await find({ target: 'app.example' })).toEqual([]);
    const second = new Date(Math.floor(Date.parse(newest.decided_at) / 1_000) * 1_000 + 1_000).toISOString();
    expect(await find({ since: second })).toEqual([]);
    expect(await find({ until: second, allowed: 'false' })).toEqual([1]);
    expect(await find({ since: '2026-01-01T00:00:00+01:00', until: second })).toEqual([0, 1, 2, 3, 4]);
  });

  it('with a rare filter reads a bounded part of the record for each page, and finds all by its next pages', async () => {
    await service.pool.query(
      `insert into bind_decisions (account_id, id, decided_at, credential_id, credential_version, owner_id, fingerprint,
         target, allowed, reason, gateway)
       select $1, 'bd_' || lpad(n::text, 27, '0'), now(), 'sshcr_' || lpad('1', 27, '0'), 1, 'bot_1', $2, '{"domain":"a.example"}',
         n not in (3, 24000), case when n in (3, 24000) then 'expired' else 'permitted' end, 'g' from generate_series(1, 25000) n`,
      [tenant.accountId, UNKNOWN_FINGERPRINT],
    );
    const found = await tenant.client.pages('/bind_decisions?reason=expired&limit=1', 'bind_decisions');
    const id = (n: number) => `bd_${String(n).padStart(27, '0')}`;
    expect(found).toEqual([[id(24_000)], [], [id(3)]]);
  });

  it.each([
    ['?limit=0', 'ERR_NGROK_233'],
    ['?before_id=sshcr_3MPflUxi65UVJUZK1y0iEJKUOhV', 'ERR_NGROK_223'],
    ['?credential_id=x', 'ERR_TAS_400'],
    ['?allowed=yes', 'ERR_TAS_400'],
    ['?reason=because', 'ERR_TAS_400'],
    ['?since=yesterday', 'ERR_TAS_400'],
    ['?owner_id=a+b', 'ERR_TAS_400'],
  ])('refuses the query %s', async (query, code) => {
    await expectRefusal(() => tenant.client.get(`/bind_decisions${query}`), 400, code);
  });

  it('records decisions about unknown keys without an account, for the operator only', async () => {
    const fingerprint = `SHA256:${'B'.repeat(42)}A`;
    await ask(fingerprint);
    expect(await recorded()).toEqual([]);
    expect(await rowsOf(fingerprint)).toMatchObject([{ account_id: '', allowed: false, reason: 'unknown_key' }]);
  });

  it('exists without GATEWAY_TOKENS too', async () => {
    const { fingerprint } = await credentialOf();
    await ask(fingerprint);
    await untilWritten(gateway);
    const without = await startCopy(service);
    const { body } = await tenant.client.get(`${without.app.url}/bind_decisions`);
    expect(body.bind_decisions).toHaveLength(1);
    await without.stop();
  });
});

describe('when a credential was last used', () => {
  it('is the time of its newest permission; refusals do not count', async () => {
    const credential = await credentialOf({ acl: ['bind:app.example.com'] });
    await ask(credential.fingerprint, { domain: 'web.example.com' });
    await recorded();
    expect(await lastUsedAt(credential)).toBeNull();
    await ask(credential.fingerprint);
    await ask(credential.fingerprint);
    await ask(credential.fingerprint, { domain: 'web.example.com' });
    const [, newest] = await recorded();
    expect(await lastUsedAt(credential)).toBe(newest.decided_at);
    const { body } = await gateway.post('/ssh_gateway/identify', { fingerprint: credential.fingerprint });
    expect(body.credentials).toMatchObject([{ credential_id: credential.id, last_used_at: newest.decided_at }]);
    const { body: resource } = await tenant.client.get(`/ssh_credentials/${credential.id}`);
    expect(Object.keys(resource)).not.toContain('last_used_at');
  });

  it('is visible to callers who may see the credential, and is 404 for others', async () => {
    const credential = await credentialOf();
    const member = await addUser(service, 'member', tenant.client);
    const path = `/ssh_credentials/${credential.id}/usage`;
    expect((await member.client.get(path)).body).toMatchObject({ id: credential.id, last_used_at: null });
    const other = await addAccount(service);
    await expectRefusal(() => other.client.get(path), 404, 'ERR_TAS_404');
    await tenant.client.delete(`/ssh_credentials/${credential.id}`);
    await expectRefusal(() => tenant.client.get(path), 404, 'ERR_TAS_404');
  });
});

describe('the queue of decisions', () => {
  it('delays no answer; an account that has its share is refused, and another one is not', async () => {
    const { gateway: client, stop } = await startCopy(service, { ...GATEWAY, decisionsQueueLimit: 10 });
    const { fingerprint } = await credentialOf();
    const neighbour = await credentialOf({}, await addAccount(service));
    const holder = await holdWrites(service.pool);
    try {
      for (let n = 0; n < 2; n += 1) expect(await ask(fingerprint, DOMAIN, client)).toMatchObject({ status: 200 });
      const { body, headers } = await expectRefusal(() => ask(fingerprint, DOMAIN, client), 503, 'ERR_TAS_503');
      expect(body).not.toHaveProperty('allowed');
      expect(headers.get('retry-after')).toBe('1');
      expect((await ask(neighbour.fingerprint, DOMAIN, client)).body.allowed).toBe(true);
      expect(await metric(client, 'tunnel_access_bind_decisions_queued')).toBe(3);
      expect(await metric(client, 'tunnel_access_bind_decisions_queue_full_total')).toBe(1);
    } finally {
      // Otherwise a failure here would hang every later test.
      await holder.release();
    }
    await untilWritten(client);
    expect((await ask(fingerprint, DOMAIN, client)).body.allowed).toBe(true);
    await untilWritten(client);
    // A request with the answer 503 has no decision to record.
    expect(await rowsOf(fingerprint)).toHaveLength(3);
    await stop();
  });

  it('accepts all decisions of one request or refuses all', async () => {
    const { gateway: client, stop } = await startCopy(service, { ...GATEWAY, decisionsQueueLimit: 5 });
    const { fingerprint } = await credentialOf();
    expect((await ask(fingerprint, Array(6).fill(DOMAIN), client)).status).toBe(503);
    expect((await ask(fingerprint, Array(5).fill(DOMAIN), client)).status).toBe(200);
    await stop();
    expect(await rowsOf(fingerprint)).toHaveLength(5);
  });

  it('writes each decision once, even if the answer of the database is lost', async () => {
    const proxy = await startSwallowingProxy(service.databaseUrl);
    const { gateway: client, stop } = await startCopy(service, GATEWAY, proxy.url);
    const { fingerprint } = await credentialOf();
    // Otherwise the answer could come before it is swallowed.
    const holder = await holdWrites(service.pool);
    await ask(fingerprint, DOMAIN, client);
    proxy.swallowNextAnswer();
    const errors = takeErrorLines();
    await holder.release();
    await untilWritten(client);
    expect(errors.end()).toEqual([expect.stringContaining('could not be written and will be retried')]);
    expect(proxy.swallowed).toBe(1);
    expect(await metric(client, 'tunnel_access_bind_decisions_write_failures_total')).toBe(1);
    expect(await rowsOf(fingerprint)).toHaveLength(1);
    await stop();
    await proxy.close();
  });

  it('refuses while the database is away, and records earlier decisions once it is back', async () => {
    const proxy = await startSwallowingProxy(service.databaseUrl);
    const { gateway: client, stop } = await startCopy(service, GATEWAY, proxy.url);
    const { fingerprint } = await credentialOf();
    await ask(fingerprint, DOMAIN, client);
    proxy.goAway();
    const errors = takeErrorLines();
    expect((await ask(fingerprint, DOMAIN, client)).status).toBe(503);
    const failures = () => metric(client, 'tunnel_access_bind_decisions_write_failures_total');
    while ((await failures()) === 0) await sleep(10);
    proxy.comeBack();
    await untilWritten(client);
    expect(errors.end()).toContainEqual(expect.stringContaining('could not be written and will be retried'));
    expect(await rowsOf(fingerprint)).toHaveLength(1);
    await stop();
    await proxy.close();
  });

  it('is written before a shutdown ends, with the decisions made during the shutdown', async () => {
    const { gateway: client, stop } = await startCopy(service, GATEWAY);
    const { fingerprint } = await credentialOf();
    const calls = Array.from({ length: 200 }, () => ask(fingerprint, DOMAIN, client));
    await calls[0];
    await stop();
    const settled = await Promise.allSettled(calls);
    const answered = settled.filter((one) => one.status === 'fulfilled' && one.value.status === 200);
    expect(answered.length).toBeGreaterThan(0);
    expect(await rowsOf(fingerprint)).toHaveLength(answered.length);
  });

  it('is not blocked by a decision that cannot be written', async () => {
    const fatal = jest.spyOn(Logger.prototype, 'fatal').mockImplementation(() => undefined);
    const error = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const queue = new BindDecisionQueue(service.pool, { decisionsQueueLimit: 100 }, new BindDecisionMetrics([]));
    const ids = new IdSource();
    const fingerprint = `SHA256:${'C'.repeat(42)}A`;
    const decided = Array.from({ length: 9 }, (_, n) => ({
      id: ids.next('bd'),
      decidedAt: ids.now(),
      fingerprint,
      target: { kind: 'domain', name: 'app.example.com' } as const,
      decision: {
        allowed: false,
        reason: 'unknown_key',
        matchedRule: null,
        ruleIndex: null,
        needs: null,
        grant: undefined,
        expiresInMs: null,
      } as const,
      gateway: '127.0.0.1',
      gatewayName: undefined,
      gatewayAccount: undefined,
      logPosition: null,
      readAt: null,
      isKeyDenied: false,
      source: n === 5 ? 'a text with \0, which the API refuses' : undefined,
    }));
    queue.add(decided);
    await queue.onApplicationShutdown();
    expect(await rowsOf(fingerprint)).toHaveLength(8);
    expect(fatal.mock.calls).toEqual([[expect.stringContaining(`${decided[5]?.id} cannot be written and is lost`)]]);
    expect(error).toHaveBeenCalled();
    jest.restoreAllMocks();
  });

  it('writes each decision of many concurrent gateways exactly once', async () => {
    const credentials = await Promise.all(Array.from({ length: 8 }, () => credentialOf()));
    await Promise.all(Array.from({ length: 400 }, (_, n) => ask(credentials[n % 8]?.fingerprint ?? '')));
    await untilWritten(gateway);
    for (const { fingerprint } of credentials) expect(await rowsOf(fingerprint)).toHaveLength(50);
  });
});

describe('a recorded decision', () => {
  it.each([
    ['update bind_decisions set allowed = true'],
    ['update bind_decisions set allowed = true where false'],
    ['truncate bind_decisions'],
  ])('cannot be changed: %s', async (statement) => {
    await ask(UNKNOWN_FINGERPRINT);
    await untilWritten(gateway);
    await expect(service.pool.query(statement)).rejects.toThrow('bind_decisions are append-only');
  });

  it('is deleted only when it is too old; the last use of a credential stays', async () => {
    const [kept, deleted] = [await credentialOf(), await credentialOf()];
    for (const { fingerprint } of [kept, deleted]) await ask(fingerprint);
    await untilWritten(gateway);
    await aged(kept.fingerprint, [89, 91, 400], 1500);
    const usedAt = await lastUsedAt(kept);
    await tenant.client.delete(`/ssh_credentials/${deleted.id}`);
    const retention = new RecordRetention(service.pool, { decisionsRetentionDays: 90 });
    await retention.purge();
    expect(await rowsOf(kept.fingerprint)).toHaveLength(2);
    // In a hundred days every decision is too old. Those of today stay, whatever the clock of an instance says.
    await retention.purge(new Date(Date.now() + 100 * DAY_MS));
    expect(await rowsOf(kept.fingerprint)).toHaveLength(1);
    expect(await lastUsedAt(kept)).toBe(usedAt);
    const { rows } = await service.pool.query('select from credential_usage where credential_id = $1', [deleted.id]);
    expect(rows).toEqual([]);
  });

  it('is never deleted with DECISIONS_RETENTION_DAYS=0, except the last use of a deleted credential', async () => {
    const [kept, deleted] = [await credentialOf(), await credentialOf()];
    for (const { fingerprint } of [kept, deleted]) await ask(fingerprint);
    await untilWritten(gateway);
    await tenant.client.delete(`/ssh_credentials/${deleted.id}`);
    const retention = new RecordRetention(service.pool, { decisionsRetentionDays: 0 });
    await retention.purge(new Date(Date.now() + 40_000 * DAY_MS));
    for (const { fingerprint } of [kept, deleted]) expect(await rowsOf(fingerprint)).toHaveLength(1);
    const { rows } = await service.pool.query(
      'select credential_id from credential_usage where credential_id = any($1)',
      [[kept.id, deleted.id]],
    );
    expect(rows).toEqual([{ credential_id: kept.id }]);
  });

  it('is looked for among the last uses of credentials, of which a purge reads each once', async () => {
    const [kept, old] = [6000, 3000];
    await service.pool.query(
      `insert into credential_usage (account_id, credential_id, last_used_at)
       select $1, 'sshcr_' || lpad(n::text, 27, '0'), case when n <= $2 then now() else now() - interval '2 days' end
       from generate_series(1, $2::int + $3::int) n`,
      [tenant.accountId, kept, old],
    );
    // As autovacuum does for so many new rows.
    await service.pool.query('analyze credential_usage');
    const before = await usesRead();
    const pool = new pg.Pool({ connectionString: service.databaseUrl });
    await new RecordRetention(pool, { decisionsRetentionDays: 0 }).purge();
    // PostgreSQL counts what a connection read when it ends.
    await pool.end();
    const read = (await usesRead()) - before;
    const { rows } = await service.pool.query(
      `select count(*)::int as uses, count(*) filter (where last_used_at < now() - interval '1 hour')::int as old
       from credential_usage where account_id = $1`,
      [tenant.accountId],
    );
    expect(rows).toEqual([{ uses: kept, old: 0 }]);
    // Each once to decide about it, and each old one twice more to delete it.
    expect(read).toBeLessThan(kept + 3 * old + 500);
  });

  it('may be under deletion at shutdown: HTTP does not wait for the purge, the database does', async () => {
    const { fingerprint } = await credentialOf();
    await ask(fingerprint);
    await untilWritten(gateway);
    const holder = await service.pool.connect();
    const retention = new RecordRetention(service.pool, { decisionsRetentionDays: 1 }, 0);
    try {
      await holder.query('begin');
      await holder.query('lock table bind_decisions in access exclusive mode');
      retention.onModuleInit();
      await sleep(50);
      expect(retention.onModuleDestroy()).toBeUndefined();
      const closed = retention.onApplicationShutdown().then(() => 'closed');
      const waits = new Promise((resolve) => setTimeout(resolve, 50, 'waits'));
      expect(await Promise.race([closed, waits])).toBe('waits');
      await holder.query('rollback');
      expect(await closed).toBe('closed');
    } finally {
      await holder.query('rollback');
      holder.release();
    }
  });
});

/** Rows of last uses that all connections have read and that ended. */
async function usesRead(): Promise<number> {
  const client = new pg.Client({ connectionString: service.databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ n: number }>(
    `select (idx_tup_fetch + seq_tup_read)::float8 as n from pg_stat_user_tables where relname = 'credential_usage'`,
  );
  await client.end();
  return rows[0]?.n ?? Number.NaN;
}

/** Copies the decision to past days: once to each, and `more` times to the last. */
async function aged(fingerprint: string, days: readonly number[], more: number): Promise<void> {
  const last = days.at(-1) ?? 0;
  const ages = [...days, ...Array<number>(more).fill(last)];
  const ids = ages.map((age) => new IdSource(() => Date.now() - age * DAY_MS).next('bd'));
  await service.pool.query(
    `insert into bind_decisions (account_id, id, decided_at, credential_id, credential_version, owner_id, fingerprint,
       target, allowed, reason, rule, gateway, source)
     select d.account_id, aged.id, now() - aged.days * interval '1 day', d.credential_id, d.credential_version, d.owner_id,
       d.fingerprint, d.target, d.allowed, d.reason, d.rule, d.gateway, d.source
     from bind_decisions d, unnest($2::text[], $3::int[]) as aged(id, days) where d.fingerprint = $1`,
    [fingerprint, ids, ages],
  );
}
