import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Answer } from './support/api-client.js';
import { type TestCredential, untilWritten, upload } from './support/decisions.js';
import { expireNow } from './support/expire.js';
import { makeIpPolicy } from './support/ip-policies.js';
import { newPublicKey } from './support/keys.js';
import { headOf } from './support/many-credentials.js';
import { addAccount, addBot, addUser, type TestPrincipal } from './support/principals.js';
import { GATEWAY, type Service, startService } from './support/service.js';

/** A check as of a moment answers what the same check answered then. */
let service: Service;
let account: TestPrincipal;
beforeAll(async () => {
  service = await startService({
    ...GATEWAY,
    addressPools: [{ host: '1.tcp.example.com', from: 20_000, to: 20_100, region: '' }],
  });
});
afterAll(() => service.stop());
beforeEach(async () => {
  account = await addAccount(service);
});

/** Of each kind of check its own, since a deleted address rests. */
const [POOLED, POOLED_EDGE] = ['1.tcp.example.com:20000', '1.tcp.example.com:20001'] as const;
const TARGETS = [{ domain: 'app.example.com' }, { address: POOLED }, { label: { key: 'team', value: 'blue' } }];
const OF_EDGES = ['other_accounts', 'resting_names', 'settings'];
const OF_CREDENTIALS = [...OF_EDGES, 'denied_keys', 'other_credentials'];

const credentialOf = ({ client }: TestPrincipal, body: object = {}): Promise<TestCredential> =>
  upload(service, client, { public_key: newPublicKey(), ...body });

/** Asks before and after each change, and then asks again about each of these moments. */
async function expectSameAsThen(
  path: string,
  body: object,
  not_considered: readonly string[],
  changes: (() => Promise<Answer>)[],
) {
  const { client } = account;
  const before = await headOf(service.pool, account.accountId);
  const moments: { position: number; time: string; answer: Answer }[] = [];
  for (const change of [undefined, ...changes]) {
    const made = await change?.();
    if (made !== undefined) expect(made.status).toBeLessThan(300);
    const answer = await client.post(path, body);
    moments.push({ position: await headOf(service.pool, account.accountId), time: new Date().toISOString(), answer });
    await sleep(2);
  }
  for (const { position, time, answer } of moments) {
    const expected =
      answer.status === 200 ? { ...answer.body, not_considered } : { error_code: answer.body.error_code };
    for (const as_of of [position, String(position), time]) {
      expect(await client.post(path, { ...body, as_of })).toMatchObject({ status: answer.status, body: expected });
    }
  }
  expect((await client.post(path, { ...body, as_of: before - 1 })).status).toBe(404);
  return moments.map(({ answer }) => answer);
}

describe('POST /ssh_credentials/{id}/check as of a moment', () => {
  it('answers as the check did then, after changes of its rules, expiry, sources, owner and reservations, and its deletion', async () => {
    const { client } = account;
    const owner = await addUser(service, 'member', client);
    const { id } = await credentialOf(owner, { acl: ['bind:app.example.com'] });
    const path = `/ssh_credentials/${id}`;
    const body = { target: TARGETS, source: '192.0.2.7' };
    let addr = '';
    const answers = await expectSameAsThen(`${path}/check`, body, OF_CREDENTIALS, [
      () => client.patch(path, { acl: [] }),
      async () => {
        const made = await client.post('/reserved_addrs', { addr: POOLED });
        addr = `/reserved_addrs/${made.body.id}`;
        return made;
      },
      () => client.put(`${path}/source_restriction`, { cidrs: ['198.51.100.0/24'] }),
      () => client.put(`${path}/source_restriction`, { cidrs: ['192.0.2.0/24'] }),
      () => client.delete(addr),
      () => client.patch(`/users/${owner.id}`, { active: false }),
      () => client.patch(`/users/${owner.id}`, { active: true }),
      // A position stands for the time of its event, which is before the expiry that it sets.
      () => expireNow(client, path).then(() => client.patch(path, { description: 'expired' })),
      () => client.delete(path),
    ]);
    const reasons = answers.map(({ body: { decisions = [] } }) =>
      decisions.map(({ reason }: { reason: string }) => reason),
    );
    const permitted = ['permitted', 'permitted', 'permitted'];
    const unreserved = ['permitted', 'not_reserved', 'permitted'];
    expect(reasons).toEqual([
      ['permitted', 'not_reserved', 'not_permitted'],
      ...[unreserved, permitted, Array(3).fill('source_not_allowed'), permitted, unreserved],
      ...[Array(3).fill('owner_inactive'), unreserved, Array(3).fill('expired'), []],
    ]);
  });

  it('knows by the time, not by an event, what had expired', async () => {
    const { client } = account;
    const { id } = await credentialOf(account);
    const path = `/ssh_credentials/${id}`;
    const before = new Date().toISOString();
    const { headers } = await expireNow(client, path);
    await client.patch(path, { description: 'later' });
    const reasonAt = async (as_of: string | number) =>
      (await client.post(`${path}/check`, { target: TARGETS[0], as_of })).body.reason;
    const position = Number(headers.get('log-position'));
    expect([await reasonAt(before), await reasonAt(position)]).toEqual(['permitted', 'permitted']);
    expect([await reasonAt(position + 1), await reasonAt(new Date().toISOString())]).toEqual(['expired', 'expired']);
  });

  it('reads the log alone, answers one target with one answer, and knows no source as now', async () => {
    const { client, accountId } = account;
    const { id } = await credentialOf(account, { acl: ['bind:app.example.com'], source_cidrs: ['192.0.2.0/24'] });
    await service.pool.query(`update ssh_credentials set acl = '{}', source_cidrs = null where id = $1`, [id]);
    const as_of = await headOf(service.pool, accountId);
    const answer = { matched_rule: null, needs: null, not_considered: OF_CREDENTIALS };
    expect((await client.post(`/ssh_credentials/${id}/check`, { target: TARGETS[0], as_of })).body).toEqual({
      ...{ allowed: false, reason: 'source_unknown', ...answer },
    });
  });

  it('answers as of the position of a recorded decision what the decision says, while its rows change', async () => {
    const { client } = account;
    const bot = await addBot(service, client);
    const { id, fingerprint } = await credentialOf(bot, { acl: ['bind:app.example.com', 'bind:x=0'] });
    let isDone = false;
    const change = async (): Promise<void> => {
      for (let n = 1; !isDone; n += 1) {
        const acl = n % 3 === 0 ? [] : [...Array(n % 3).fill('bind:other.example.com'), 'bind:app.example.com'];
        await client.patch(`/ssh_credentials/${id}`, { acl });
        if (n % 4 === 0) await client.patch(`/bot_users/${bot.id}`, { active: n % 8 === 0 });
      }
    };
    const changes = change();
    const ask = async () => {
      const body = { fingerprint, target: TARGETS[0] };
      for (let n = 0; n < 12; n += 1) await service.gateway.post('/ssh_gateway/authorize', body);
    };
    await Promise.all([ask(), ask(), ask()]);
    isDone = true;
    await changes;
    await untilWritten(service.gateway);
    const { bind_decisions: decisions } = (await client.get('/bind_decisions')).body;
    for (const { log_position: as_of, target, allowed, reason, matched_rule } of decisions) {
      const { body } = await client.post(`/ssh_credentials/${id}/check`, { target, as_of });
      expect(body).toMatchObject({ allowed, reason, matched_rule });
    }
    const answers = decisions.map(({ reason, rule_index }: Record<string, unknown>) => `${reason} ${rule_index}`);
    expect(new Set(answers).size).toBeGreaterThan(2);
  });

  it('is 404 for another account, and refuses the future and what is no moment, as a GET does', async () => {
    const { client } = account;
    const { id } = await credentialOf(account);
    const check = (as_of: unknown, by = client) =>
      by.post(`/ssh_credentials/${id}/check`, { target: TARGETS[0], as_of });
    expect((await check('1', (await addAccount(service)).client)).status).toBe(404);
    for (const as_of of [1_000_000, '2999-01-01T00:00:00Z', 'tuesday', -1, '']) {
      const query = new URLSearchParams({ as_of: String(as_of) });
      const { status, body } = await check(as_of);
      expect([as_of, status, body.msg]).toEqual([as_of, 400, expect.stringContaining('as_of')]);
      if (as_of !== '') expect(body.msg).toBe((await client.get(`/ssh_credentials/${id}?${query}`)).body.msg);
    }
    expect((await check({})).status).toBe(400);
  });
});

describe('POST /edges/tcp/{id}/check as of a moment', () => {
  it('answers as the check did then, after changes of its policies, their rules, its traffic policy and reservations', async () => {
    const { client } = account;
    const [policy, named] = [await makeIpPolicy(client, ['+192.0.2.0/24']), await makeIpPolicy(client, [])];
    const edge = (await client.post('/edges/tcp', { hostports: [POOLED_EDGE, 'edge.example:1'] })).body;
    const path = `/edges/tcp/${edge.id}`;
    let rule = '';
    const value = (expression: string) => ({
      value: JSON.stringify({ on_tcp_connect: [{ expressions: [expression], actions: [{ type: 'deny' }] }] }),
    });
    const answers = await expectSameAsThen(`${path}/check`, { source: '192.0.2.7' }, OF_EDGES, [
      () => client.put(`${path}/ip_restriction`, { ip_policy_ids: [policy.id] }),
      async () => {
        const made = await client.post('/ip_policy_rules', {
          ip_policy_id: policy.id,
          cidr: '192.0.2.7/32',
          action: 'deny',
        });
        rule = `/ip_policy_rules/${made.body.id}`;
        return made;
      },
      () => client.patch(rule, { cidr: '192.0.2.8/32' }),
      () => client.delete(rule),
      () => client.put(`${path}/traffic_policy`, value("conn.client_ip == '192.0.2.7'")),
      () => client.post('/reserved_addrs', { addr: POOLED_EDGE }),
      () => client.delete(`${path}/traffic_policy`),
      () => client.put(`${path}/ip_restriction`, { ip_policy_ids: [named.id, policy.id] }),
      () => client.delete(`/ip_policies/${policy.id}`),
      () => client.delete(path),
    ]);
    expect(answers.map(({ body: { reason, not_served = [] } }) => [reason, not_served.length])).toEqual([
      ...[
        ['no_restriction', 1],
        ['allowed', 1],
        ['denied', 1],
        ['allowed', 1],
        ['allowed', 1],
      ],
      ...[
        ['traffic_policy', 1],
        ['traffic_policy', 0],
        ['allowed', 0],
        ['allowed', 0],
        ['policy_unknown', 0],
      ],
      [undefined, 0],
    ]);
  });

  it('gives the traffic policy the time of then', async () => {
    const { client } = account;
    const then = new Date(Date.now() + 100);
    const expression = `conn.ts.start < timestamp('${then.toISOString()}')`;
    const text = JSON.stringify({ on_tcp_connect: [{ expressions: [expression], actions: [{ type: 'deny' }] }] });
    const body = { hostports: ['edge.example:2'], traffic_policy: { value: text } };
    const { headers, body: edge } = await client.post('/edges/tcp', body);
    const position = Number(headers.get('log-position'));
    await sleep(200);
    const reasonAt = async (as_of: unknown) =>
      (await client.post(`/edges/tcp/${edge.id}/check`, { source: '192.0.2.7', as_of })).body.traffic_policy?.reason;
    const answers = [await reasonAt(position), await reasonAt(new Date().toISOString()), await reasonAt(undefined)];
    expect(answers).toEqual(['denied', 'no_action_ends', 'no_action_ends']);
  });

  it('is 409 if it needs more than 1,000 streams, and says so', async () => {
    const { client, accountId } = account;
    const { id } = await makeIpPolicy(client, ['+192.0.2.0/24']);
    const edge = (await client.post('/edges/tcp', { ip_restriction: { ip_policy_ids: [id] } })).body;
    const check = async () =>
      client.post(`/edges/tcp/${edge.id}/check`, { source: '192.0.2.7', as_of: await headOf(service.pool, accountId) });
    const more = (count: number) =>
      client.post('/ip_policy_rules', { ip_policy_id: id, cidr: `10.0.${count >> 8}.${count & 255}`, action: 'deny' });
    // The edge, the policy and its first rule are three.
    for (let n = 0; n < 997; n += 50)
      await Promise.all(Array.from({ length: Math.min(50, 997 - n) }, (_, i) => more(n + i)));
    expect(await check()).toMatchObject({ status: 200, body: { reason: 'allowed' } });
    await more(1_000);
    expect(await check()).toMatchObject({
      status: 409,
      body: { msg: expect.stringContaining('more than 1000 streams') },
    });
  });
});
