import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient } from './support/api-client.js';
import { holdAllWrites, type TestCredential, untilWritten, upload } from './support/decisions.js';
import { expireNow } from './support/expire.js';
import { newPublicKey } from './support/keys.js';
import { addAccount, addBot, addUser, type TestPrincipal } from './support/principals.js';
import { GATEWAY, type Service, startCopy, startService } from './support/service.js';

let service: Service;
let account: TestPrincipal;
beforeAll(async () => {
  service = await startService(GATEWAY);
  account = await addAccount(service);
});
afterAll(() => service.stop());

const credentialOf = (body: object = {}, { client }: TestPrincipal = account): Promise<TestCredential> =>
  upload(service, client, { public_key: newPublicKey(), ...body });

const check = ({ id }: Pick<TestCredential, 'id'>, body: object, client = account.client) =>
  client.post(`/ssh_credentials/${id}/check`, body);

const APP = { domain: 'app.example.com' };
const TARGETS = [
  APP,
  { domain: 'other.example.com' },
  { domain: '*.example.com' },
  { address: 'app.example.com:443' },
  { address: 'app.example.com:0' },
  { address: '[2001:db8::1]:80' },
  { label: { key: 'team', value: 'blue' } },
  { label: { key: 'team', value: '*' } },
];
const ACLS: readonly (readonly string[])[] = [
  [],
  ['*'],
  ['bind:app.example.com', 'bind:*.example.com'],
  ['bind:app.example.com:443', 'bind:team=blue'],
  ['bind:app.example.com:*'],
  ['bind:*.com', 'bind:[2001:db8:0::1]:80', 'bind:*=*'],
  ['bind:elsewhere.example'],
];

/** The parts of a gateway's decisions that a check has too. */
const decided = async (fingerprint: string, source?: string, gateway = service.gateway) => {
  const { body } = await gateway.post('/ssh_gateway/authorize', { fingerprint, target: TARGETS, source });
  return body.decisions.map(({ allowed, reason, matched_rule, needs }: Record<string, unknown>) => {
    return { allowed, reason, matched_rule, needs };
  });
};

describe('POST /ssh_credentials/{id}/check', () => {
  it('answers what a gateway decides about every form of target, by the same rule', async () => {
    for (const acl of ACLS) {
      const credential = await credentialOf({ acl });
      const { status, body } = await check(credential, { target: TARGETS });
      expect([status, body.decisions]).toEqual([200, await decided(credential.fingerprint)]);
    }
  });

  it('answers one target with one answer', async () => {
    const credential = await credentialOf({ acl: ['bind:*.example.com', 'bind:app.example.com'] });
    expect((await check(credential, { target: APP })).body).toEqual({
      allowed: true,
      reason: 'permitted',
      matched_rule: 'bind:*.example.com',
      needs: null,
    });
    expect((await check(credential, { target: { domain: 'example.com' } })).body).toEqual({
      allowed: false,
      reason: 'not_permitted',
      matched_rule: null,
      needs: 'bind:example.com',
    });
  });

  it('answers as a gateway does for an inactive owner, an expired credential, and each source', async () => {
    const bot = await addBot(service, account.client);
    const inactive = await credentialOf({}, bot);
    await account.client.patch(`/bot_users/${bot.id}`, { active: false });
    const [expired, restricted] = [await credentialOf(), await credentialOf({ acl: ['bind:app.example.com'] })];
    await expireNow(account.client, `/ssh_credentials/${expired.id}`);
    await account.client.put(`/ssh_credentials/${restricted.id}/source_restriction`, { cidrs: ['192.0.2.0/24'] });
    const reasons: string[][] = [];
    for (const [credential, source] of [
      [inactive, undefined],
      [expired, '192.0.2.7'],
      [restricted, '198.51.100.1'],
      [restricted, '192.0.2.7'],
    ] as const) {
      const { body } = await check(credential, { target: TARGETS, source });
      expect(body.decisions).toEqual(await decided(credential.fingerprint, source));
      reasons.push([...new Set<string>(body.decisions.map(({ reason }: { reason: string }) => reason))]);
    }
    expect(reasons).toEqual([['owner_inactive'], ['expired'], ['source_not_allowed'], ['permitted', 'not_permitted']]);
  });

  it('says that no source was given, if one decides', async () => {
    const source_cidrs = ['192.0.2.0/24'];
    const restricted = await credentialOf({ acl: ['bind:app.example.com'], source_cidrs });
    for (const source of [undefined, '']) {
      const { status, body } = await check(restricted, { target: TARGETS[0], source });
      expect([status, body]).toMatchObject([200, { allowed: false, reason: 'source_unknown', needs: null }]);
    }
    expect((await check(await credentialOf(), { target: TARGETS[0] })).body.reason).not.toBe('source_unknown');
  });

  it('answers as a gateway does for a key on the deny list', async () => {
    const credential = await credentialOf();
    const denying = await startCopy(service, { ...GATEWAY, deniedFingerprints: new Set([credential.fingerprint]) });
    const { body } = await check(credential, { target: TARGETS }, new ApiClient(denying.app.url, account.client.token));
    expect(body.decisions).toEqual(await decided(credential.fingerprint, undefined, denying.gateway));
    expect(body.decisions[0].reason).toBe('unknown_key');
    await denying.stop();
  });

  it('permits nothing for a key that belongs to another account', async () => {
    const other = await addAccount(service);
    const [older, younger] = [await credentialOf(), await credentialOf({}, other)];
    // Two accounts raced for the key. It belongs to the account of its oldest credential.
    const values = [older.fingerprint, younger.id];
    await service.pool.query('update ssh_credentials set fingerprint = $1 where id = $2', values);
    expect((await check(older, { target: APP })).body.reason).toBe('permitted');
    const { body } = await check(younger, { target: APP }, other.client);
    expect(body).toEqual({ allowed: false, reason: 'unknown_key', matched_rule: null, needs: null });
  });

  it('is about this credential alone, whatever else its key may do', async () => {
    const public_key = newPublicKey();
    const narrow = await credentialOf({ public_key, acl: ['bind:elsewhere.example'] });
    const wide = await credentialOf({ public_key });
    expect((await check(narrow, { target: APP })).body.reason).toBe('not_permitted');
    expect((await check(wide, { target: APP })).body.reason).toBe('permitted');
  });

  it('names the expiry of a younger credential of a key that other credentials let in', async () => {
    const public_key = newPublicKey();
    await credentialOf({ public_key });
    const [second, third] = [await credentialOf({ public_key }), await credentialOf({ public_key })];
    for (const { id } of [second, third]) {
      await expireNow(account.client, `/ssh_credentials/${id}`);
    }
    for (const one of [second, third]) expect((await check(one, { target: APP })).body.reason).toBe('expired');
  });

  it('permits nothing by a credential beyond the hundred of a key that count, for which no rule helps', async () => {
    const public_key = newPublicKey();
    const all = Array.from({ length: 101 }, () => account.client.post('/ssh_credentials', { public_key }));
    const ids = (await Promise.all(all)).map(({ body }) => body.id).sort();
    const answerOf = async (id: string) =>
      (await account.client.post(`/ssh_credentials/${id}/check`, { target: APP })).body;
    expect(await answerOf(ids[99])).toMatchObject({ reason: 'permitted' });
    expect(await answerOf(ids[100])).toMatchObject({ reason: 'not_permitted', needs: null });
  });

  it('is for every user and bot of the account, and 404 for another account', async () => {
    const credential = await credentialOf();
    const [member, bot] = [await addUser(service, 'member', account.client), await addBot(service, account.client)];
    for (const { client } of [member, bot]) {
      expect((await check(credential, { target: APP }, client)).body.allowed).toBe(true);
    }
    expect((await check(credential, { target: APP }, (await addAccount(service)).client)).status).toBe(404);
  });

  it('is recorded nowhere, and uses no Idempotency-Key up', async () => {
    const credential = await credentialOf();
    const counts = async () => {
      const { rows } = await service.pool.query(
        `select (select count(*)::int from events) as events, (select count(*)::int from bind_decisions) as decisions,
           (select count(*)::int from credential_usage where credential_id = $1) as uses`,
        [credential.id],
      );
      return [rows[0], (await service.gateway.get('/ssh_gateway/metrics')).body];
    };
    await untilWritten(service.gateway);
    const before = await counts();
    const headers = { 'idempotency-key': 'check-1' };
    const path = `/ssh_credentials/${credential.id}/check`;
    for (const target of [APP, { domain: 'b.example' }]) {
      const answer = await account.client.post(path, { target }, headers);
      expect([answer.status, answer.headers.get('log-position')]).toEqual([200, null]);
    }
    expect((await account.client.post('/bot_users', { name: 'first with this key' }, headers)).status).toBe(201);
    const after = await counts();
    expect(after).toEqual([{ ...before[0], events: before[0].events + 1 }, before[1]]);
    expect((await account.client.get(`/ssh_credentials/${credential.id}/usage`)).body.last_used_at).toBeNull();
  });

  it('writes nothing: it answers while every table is locked against writes', async () => {
    const credential = await credentialOf();
    const held = await holdAllWrites(service.pool);
    expect((await check(credential, { target: APP })).body.allowed).toBe(true);
    await held.release();
  });

  it.each([
    ['no target', {}, 'target is missing; send the target to bind.'],
    ['a text for a target', { target: 'a.example' }, 'target must be an object such as {"domain": "app.example.com"}.'],
  ])('refuses %s', async (_, body, message) => {
    const answer = await check(await credentialOf(), body);
    expect([answer.status, answer.body.error_code, answer.body.msg]).toEqual([400, 'ERR_TAS_400', message]);
  });
});

describe('POST /acl/check', () => {
  const checkAcl = (acl: unknown, target: unknown) => account.client.post('/acl/check', { acl, target });

  it('judges networks that no credential has yet, as a credential with them would be', async () => {
    const target = { domain: 'app.example.com' };
    const asked = { acl: ['bind:app.example.com'], target, source_cidrs: ['10.0.0.0/8'] };
    for (const [source, reason] of [
      ['10.1.2.3', 'permitted'],
      ['192.0.2.1', 'source_not_allowed'],
      ['', 'source_unknown'],
      [undefined, 'source_unknown'],
    ]) {
      const { body } = await account.client.post('/acl/check', { ...asked, source });
      expect([source, body.reason, body.allowed]).toEqual([source, reason, reason === 'permitted']);
    }
    const free = { acl: asked.acl, target, source: '192.0.2.1' };
    expect((await account.client.post('/acl/check', free)).body.reason).toBe('permitted');
    const wrong = await account.client.post('/acl/check', { ...asked, source_cidrs: ['10.1.2.3/8'] });
    expect([wrong.status, wrong.body.msg]).toEqual([400, expect.stringMatching(/^source_cidrs\[0\] .*10\.0\.0\.0\/8/)]);
  });

  it('answers as a credential with these rules', async () => {
    for (const acl of ACLS) {
      const credential = await credentialOf({ acl });
      expect((await checkAcl(acl, TARGETS)).body).toEqual((await check(credential, { target: TARGETS })).body);
    }
  });

  it('is for every user and bot, with and without gateways', async () => {
    const member = await addUser(service, 'member', account.client);
    const copy = await startCopy(service);
    const body = { acl: ['*'], target: APP };
    for (const client of [member.client, new ApiClient(copy.app.url, member.client.token)]) {
      expect((await client.post('/acl/check', body)).body.allowed).toBe(true);
    }
    await copy.stop();
  });

  it('refuses rules that no credential could have, and names the bad one', async () => {
    const { status, body } = await checkAcl(['bind:a.example', 'a.example'], APP);
    expect([status, body.error_code, body.msg]).toEqual([
      400,
      'ERR_NGROK_600',
      "acl[1] 'a.example' is not a bind rule: a rule is '*' or begins with 'bind:'.",
    ]);
  });

  it('refuses absent rules, which would permit everything', async () => {
    for (const acl of [undefined, null]) {
      const { status, body } = await checkAcl(acl, APP);
      expect([status, body.msg]).toEqual([400, 'acl is missing; [] permits everything.']);
    }
  });
});
