import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type CryptoKey, exportSPKI, importJWK } from 'jose';
import type { Config } from '../src/api/config/config.js';
import { type Answer, ApiClient } from './support/api-client.js';
import { EventStream } from './support/event-stream.js';
import { newPublicKey } from './support/keys.js';
import { AUDIENCE, newSigningKey, type SigningKey, TestIssuer } from './support/oidc-issuer.js';
import { addAccount } from './support/principals.js';
import { stall } from './support/raw-http.js';
import { type Service, startCopy, startService } from './support/service.js';

const ADMIN_EMAIL = 'admin@localhost';

let issuer: TestIssuer;
let service: Service;
let es256: SigningKey;
let rs256: SigningKey;
beforeAll(async () => {
  [es256, rs256] = await Promise.all([newSigningKey('es-1'), newSigningKey('rs-1', 'RS256')]);
  issuer = await TestIssuer.start(es256, rs256);
  service = await signInService();
});
afterAll(async () => {
  await service.stop();
  await issuer.stop();
});
afterEach(() => {
  jest.restoreAllMocks();
});

/** On the database of `service`. */
const signInCopy = (at: TestIssuer, settings: Partial<Config> = {}): Promise<Service> =>
  startCopy(service, { oidcIssuer: at.url, oidcAudience: AUDIENCE, ...settings });
const signInService = (settings: Partial<Config> = {}): Promise<Service> =>
  startService({ oidcIssuer: issuer.url, oidcAudience: AUDIENCE, ...settings });

const clientOf = (token: string, on: Service = service): ApiClient => new ApiClient(on.app.url, token);
const list = (token: string, on: Service = service): Promise<Answer> => clientOf(token, on).get('/ssh_credentials');
const nowSeconds = (): number => Math.floor(Date.now() / 1000);
const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Asserts an error in the shape of the contract that quotes no part of the token. */
async function expectRefusal(token: string, status: number, code: string, msg: RegExp, on?: Service): Promise<Answer> {
  const answer = await list(token, on);
  expect(answer).toMatchObject({ status, body: { error_code: code, msg: expect.stringMatching(msg) } });
  const text = JSON.stringify(answer.body);
  for (const part of token.split('.').filter((p) => p.length > 8)) expect(text).not.toContain(part);
  return answer;
}

/** Creates a credential and returns the metadata of its event. */
async function metadataOfChange(token: string, on: Service = service): Promise<Record<string, unknown>> {
  const { status, body } = await clientOf(token, on).post('/ssh_credentials', { public_key: newPublicKey() });
  expect(status).toBe(201);
  const { rows } = await on.pool.query('select metadata from events where stream_id = $1', [body.id]);
  const [{ metadata }] = rows;
  return typeof metadata === 'string' ? JSON.parse(metadata) : metadata;
}

describe('a token of the issuer', () => {
  it.each([
    ['ES256', () => es256],
    ['RS256', () => rs256],
  ])('signed with %s signs in the user with its email address, in any case', async (_, key) => {
    expect((await list(await issuer.sign({ email: 'Admin@LocalHost' }, key()))).status).toBe(200);
  });

  it('is named in the event of a change, with its user and without an API key', async () => {
    const { rows } = await service.pool.query(`select id from principals where email = '${ADMIN_EMAIL}'`);
    const metadata = await metadataOfChange(await issuer.sign({ email: ADMIN_EMAIL, jti: 'token-7' }));
    expect(metadata).toMatchObject({ actor: rows[0].id, token_id: 'token-7', ip: '127.0.0.1' });
    expect(metadata).not.toHaveProperty('api_key_id');
  });

  it.each([undefined, 'x'.repeat(256), 'a\u0000b', 7])('with the jti %p is named by its hash', async (jti) => {
    const token = await issuer.sign({ email: ADMIN_EMAIL, jti: jti as string });
    expect(await metadataOfChange(token)).toMatchObject({ token_id: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) });
  });

  it('works besides API keys, and causes only one request for the keys', async () => {
    for (let n = 0; n < 10; n += 1) await list(await issuer.sign({ email: ADMIN_EMAIL }));
    expect((await service.admin.get('/ssh_credentials')).status).toBe(200);
    expect(Object.fromEntries(issuer.requestCounts)).toEqual({ '/.well-known/openid-configuration': 1, '/keys': 1 });
  });

  it('is treated as an API key if no issuer is configured', async () => {
    const plain = await startCopy(service);
    expect(await list(await issuer.sign({ email: ADMIN_EMAIL }), plain)).toMatchObject({ status: 401 });
    await plain.stop();
  });

  it('is distinguished from an API key with two dots', async () => {
    const dotted = await signInService({ bootstrapApiKey: 'eyJ-my.own.api-key' });
    expect((await list('eyJ-my.own.api-key', dotted)).status).toBe(200);
    await dotted.stop();
  });
});

describe('an invalid token is 401, with a sentence that names the defect', () => {
  const email = ADMIN_EMAIL;
  it.each([
    ['another audience', () => issuer.sign({ email, aud: 'other-program' }), /another audience/],
    ['another issuer', () => issuer.sign({ email, iss: 'https://evil.example.test' }), /another issuer/],
    ['expired', () => issuer.sign({ email, exp: nowSeconds() - 31 }), /expired/],
    ['without expiry', () => issuer.sign({ email, exp: undefined as never }), /time of expiry/],
    ['not yet valid', () => issuer.sign({ email, nbf: nowSeconds() + 60 }), /not valid yet/],
    ['no email', () => issuer.sign({}), /'email' of the token holds no usable email address/],
    ['an email outside ASCII', () => issuer.sign({ email: 'admin@loca\u212ahost' }), /no usable email address/],
    ['an unverified email', () => issuer.sign({ email, email_verified: false }), /not verified/],
    ['an unknown user', () => issuer.sign({ email: 'nobody@example.test' }), /no user has its email address/],
  ])('%s', async (_, sign, msg) => {
    await expectRefusal(await sign(), 401, 'ERR_NGROK_203', msg);
  });

  it('signed with a foreign key, under a kid of the issuer or another kid', async () => {
    const stolenKid = await newSigningKey('es-1');
    const ownKid = await newSigningKey('evil');
    for (const key of [stolenKid, ownKid]) {
      await expectRefusal(await issuer.sign({ email }, key), 401, 'ERR_NGROK_203', /not signed by a key of the issuer/);
    }
  });

  it('changed after it was signed', async () => {
    const [header, , signature] = (await issuer.sign({ email: 'nobody@example.test' })).split('.');
    const claims = { iss: issuer.url, aud: AUDIENCE, exp: nowSeconds() + 300, email };
    await expectRefusal(`${header}.${base64url(claims)}.${signature}`, 401, 'ERR_NGROK_203', /not signed/);
  });

  it.each(['none', 'None', 'NONE'])('unsigned: alg %s, with and without a signature', async (alg) => {
    const claims = base64url({ iss: issuer.url, aud: AUDIENCE, exp: nowSeconds() + 300, email });
    const [, , signature] = (await issuer.sign({ email })).split('.');
    for (const last of ['', signature]) {
      const token = `${base64url({ alg, typ: 'JWT' })}.${claims}.${last}`;
      await expectRefusal(token, 401, 'ERR_NGROK_203', /algorithm that this service does not accept/);
    }
  });

  it('signed with HS256 and the public key as its secret', async () => {
    const publicKey = await exportSPKI((await importJWK(rs256.publicJwk, 'RS256', { extractable: true })) as CryptoKey);
    for (const secret of [publicKey, JSON.stringify(rs256.publicJwk)]) {
      const signed = `${base64url({ alg: 'HS256', kid: 'rs-1' })}.${base64url({
        iss: issuer.url,
        aud: AUDIENCE,
        exp: nowSeconds() + 300,
        email,
      })}`;
      const token = `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
      await expectRefusal(token, 401, 'ERR_NGROK_203', /algorithm that this service does not accept/);
    }
  });

  it('with the form of a JWT only: 401 malformed', async () => {
    await expectRefusal(
      `${base64url({ alg: 'ES256', crit: ['x'] })}.e30.AAAA`,
      401,
      'ERR_NGROK_202',
      /not a valid JWT/,
    );
  });

  it('but a clock difference of seconds is tolerated', async () => {
    expect((await list(await issuer.sign({ email, exp: nowSeconds() - 15 }))).status).toBe(200);
    expect((await list(await issuer.sign({ email, nbf: nowSeconds() + 15 }))).status).toBe(200);
  });
});

describe('the issuer', () => {
  it('rotates its keys: the new one is accepted, the withdrawn one is not', async () => {
    const rotating = await TestIssuer.start(await newSigningKey('old'));
    const on = await signInCopy(rotating);
    const before = await rotating.sign({ email: ADMIN_EMAIL });
    expect((await list(before, on)).status).toBe(200);
    rotating.publish(await newSigningKey('new'));
    const after = await rotating.sign({ email: ADMIN_EMAIL });
    // Unknown key ids of an attacker must not cause a request to the issuer each time.
    await expectRefusal(after, 401, 'ERR_NGROK_203', /not signed by a key/, on);
    expect(rotating.requestCounts.get('/keys')).toBe(1);
    const start = Date.now();
    jest.spyOn(Date, 'now').mockImplementation(() => start + 31_000);
    expect((await list(after, on)).status).toBe(200);
    await expectRefusal(before, 401, 'ERR_NGROK_203', /not signed by a key/, on);
    expect(rotating.requestCounts.get('/keys')).toBe(2);
    await on.stop();
    await rotating.stop();
  });

  it('that withdraws a key has it refused within ten minutes, even without a token of the new key', async () => {
    const rotating = await TestIssuer.start(await newSigningKey('old'));
    const on = await signInCopy(rotating);
    const token = await rotating.sign({ email: ADMIN_EMAIL, exp: nowSeconds() + 3600 });
    expect((await list(token, on)).status).toBe(200);
    rotating.publish(await newSigningKey('new'));
    expect((await list(token, on)).status).toBe(200);
    const start = Date.now();
    jest.spyOn(Date, 'now').mockImplementation(() => start + 601_000);
    await expectRefusal(token, 401, 'ERR_NGROK_203', /not signed by a key/, on);
    await on.stop();
    await rotating.stop();
  });

  it('that is down makes its tokens 503, not 401; API keys still work, and it is not flooded with requests', async () => {
    const down = await TestIssuer.start(es256);
    const on = await signInCopy(down);
    down.isUp = false;
    const tokens = await Promise.all(Array.from({ length: 20 }, () => down.sign({ email: ADMIN_EMAIL })));
    for (const answer of await Promise.all(tokens.map((token) => list(token, on)))) {
      expect(answer).toMatchObject({ status: 503, body: { error_code: 'ERR_TAS_503' } });
      expect(answer.body.msg).toMatch(/issuer of this token cannot be reached/);
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    expect((await on.admin.get('/ssh_credentials')).status).toBe(200);
    expect(down.requestCounts.get('/.well-known/openid-configuration')).toBe(1);
    down.isUp = true;
    const start = performance.now();
    jest.spyOn(performance, 'now').mockImplementation(() => start + 1_001);
    expect((await list(tokens[0] ?? '', on)).status).toBe(200);
    // The service still has the keys, so users can sign in while the issuer is down again, even under foreign tokens.
    down.isUp = false;
    const date = Date.now();
    jest.spyOn(Date, 'now').mockImplementation(() => date + 31_000);
    const strange = await down.sign({ email: ADMIN_EMAIL }, await newSigningKey('strange'));
    expect((await list(strange, on)).status).toBe(503);
    expect((await list(tokens[0] ?? '', on)).status).toBe(200);
    await on.stop();
    await down.stop();
  });

  it.each<[string, (at: TestIssuer) => unknown]>([
    ['does not exist', (at) => at.stop()],
    ['never answers', (at) => (at.isSilent = true)],
    ['has another name than configured', (at) => (at.claimedIssuer = 'https://other.example.test')],
  ])('that %s makes its tokens 503 within a few seconds, and none of its keys is used', async (_, spoil) => {
    const spoilt = await TestIssuer.start(es256);
    const on = await signInCopy(spoilt);
    const token = await spoilt.sign({ email: ADMIN_EMAIL });
    await spoil(spoilt);
    const start = performance.now();
    await expectRefusal(token, 503, 'ERR_TAS_503', /cannot be reached/, on);
    expect(performance.now() - start).toBeLessThan(5_000);
    expect(spoilt.requestCounts.get('/keys')).toBeUndefined();
    await on.stop();
    await spoilt.stop();
  });

  it('with several keys of one algorithm must name one of them in its tokens', async () => {
    const many = await TestIssuer.start(await newSigningKey('one'), await newSigningKey('two'));
    const on = await signInCopy(many);
    const unnamed = `${base64url({ alg: 'ES256' })}.${base64url({})}.AAAA`;
    await expectRefusal(unnamed, 401, 'ERR_NGROK_203', /does not say which/, on);
    await on.stop();
    await many.stop();
  });
});

describe('the user of a token', () => {
  const usersNamed = async (on: Service, email: string): Promise<{ id: string; role: string }[]> => {
    const { rows } = await on.pool.query(`select id, role from principals where lower(email) = lower($1)`, [email]);
    return rows;
  };

  it('is created once, as a member, by an event, even by concurrent first requests', async () => {
    const on = await signInService({ oidcCreateUsers: true });
    const tokens = await Promise.all(
      Array.from({ length: 16 }, (_, n) =>
        issuer.sign({ email: n % 2 === 0 ? 'Zoe@Example.test' : 'zoe@example.test' }),
      ),
    );
    const answers = await Promise.all(tokens.map((token) => list(token, on)));
    expect(answers.map((answer) => answer.status)).toEqual(Array(16).fill(200));
    const users = await usersNamed(on, 'zoe@example.test');
    expect(users).toEqual([{ id: expect.stringMatching(/^usr_/), role: 'member' }]);
    const { rows } = await on.pool.query(
      `select type, metadata from events where stream_id like 'usr\\_%' and position > 3`,
    );
    expect(rows).toHaveLength(1);
    expect(rows[0].type).toBe('user_created.v1');
    expect(JSON.stringify(rows[0].metadata)).toMatch(/oidc.*127\.0\.0\.1/);
    await on.stop();
  });

  it('is not created again by a live feed that checks its authorization', async () => {
    const on = await signInCopy(issuer, { oidcCreateUsers: true, oidcRoleClaim: 'groups', oidcAdminValue: 'admins' });
    const token = await issuer.sign({ email: 'follower@example.test', groups: ['admins'] });
    const stream = await EventStream.open(`${on.app.url}/events`, token);
    const [user] = await usersNamed(on, 'follower@example.test');
    await on.admin.delete(`/users/${user?.id}`);
    expect(await stream.ended).toBe('ended');
    expect(await usersNamed(on, 'follower@example.test')).toEqual([]);
    await on.stop();
  });

  it('gets 403 if it was deactivated while the body was on its way, and on the next request', async () => {
    const on = await signInCopy(issuer, { oidcCreateUsers: true });
    const token = await issuer.sign({ email: 'late@example.test' });
    expect((await list(token, on)).status).toBe(200);
    const [user] = await usersNamed(on, 'late@example.test');
    const headers = { authorization: `Bearer ${token}` };
    const [inTime, late] = [1, 2].map(() => stall(on.app.url, 'POST', '/edges/tcp', headers, '{}'));
    await sleep(300);
    expect((await inTime?.finish())?.status).toBe(201);
    await on.admin.patch(`/users/${user?.id}`, { active: false });
    expect((await late?.finish())?.status).toBe(403);
    await expectRefusal(token, 403, 'ERR_NGROK_636', /not active/, on);
    await on.stop();
  });

  it('is found and created in OIDC_ACCOUNT only', async () => {
    const second = await addAccount(service);
    const email = 'of-the-second@example.test';
    await second.client.post('/users', { email });
    const token = await issuer.sign({ email });
    await expectRefusal(token, 401, 'ERR_NGROK_203', /no user has its email address/);
    const on = await signInCopy(issuer, { oidcAccount: second.accountId, oidcCreateUsers: true });
    expect((await list(token, on)).status).toBe(200);
    expect((await list(await issuer.sign({ email: ADMIN_EMAIL }), on)).status).toBe(200);
    const { rows } = await on.pool.query('select account_id from principals where email = $1 order by id', [
      ADMIN_EMAIL,
    ]);
    expect(rows.map((row) => row.account_id).at(-1)).toBe(second.accountId);
    await on.stop();
  });
});

describe('the role of a token', () => {
  const ownedByOther = { public_key: newPublicKey(), owner_id: 'usr_of_the_directory' };
  /** 201 for an admin; members may not name another owner. */
  const namesAnotherOwner = async (claims: object, on: Service): Promise<number> => {
    const client = clientOf(await issuer.sign({ email: ADMIN_EMAIL, ...claims }), on);
    return (await client.post('/ssh_credentials', { ...ownedByOther, public_key: newPublicKey() })).status;
  };

  it('is the stored role of the user if no claim is configured', async () => {
    expect(await namesAnotherOwner({ groups: [] }, service)).toBe(201);
  });

  it('comes from the claim if one is configured, and overrides the stored role', async () => {
    const on = await signInCopy(issuer, {
      oidcRoleClaim: 'groups',
      oidcAdminValue: 'tunnel-admins',
      oidcCreateUsers: true,
    });
    const statusOf = (groups: unknown, email = ADMIN_EMAIL) => namesAnotherOwner({ groups, email }, on);
    expect(await statusOf(['staff', 'tunnel-admins'])).toBe(201);
    expect(await statusOf('tunnel-admins')).toBe(201);
    // The stored role of this user is admin; the issuer's withdrawal overrides it.
    expect(await statusOf(['staff'])).toBe(403);
    expect(await statusOf(undefined)).toBe(403);
    expect(await statusOf('not-tunnel-admins')).toBe(403);
    expect(await statusOf({ 'tunnel-admins': true })).toBe(403);
    expect(await statusOf(['tunnel-admins'], 'new@example.test')).toBe(201);
    expect(await statusOf([], 'new@example.test')).toBe(403);
    await on.stop();
  });

  /** What a token with these groups may do: read the log, and create an edge. */
  const mayDo = async (on: Service, email: string, groups: readonly string[]): Promise<number[]> => {
    const client = clientOf(await issuer.sign({ email, groups }), on);
    return [(await client.get('/events')).status, (await client.post('/edges/tcp', {})).status];
  };

  it('is auditor if the claim says so, and admin if it says both', async () => {
    const on = await signInCopy(issuer, {
      oidcRoleClaim: 'groups',
      oidcAuditorValue: 'auditors',
      oidcCreateUsers: true,
    });
    for (const email of [ADMIN_EMAIL, 'new-auditor@example.test']) {
      expect(await mayDo(on, email, ['auditors'])).toEqual([200, 403]);
      expect(await mayDo(on, email, ['auditors', 'admin'])).toEqual([200, 201]);
      expect(await mayDo(on, email, ['auditor'])).toEqual([403, 201]);
    }
    await on.stop();
  });

  it('of a stored auditor stays auditor if the issuer names no auditors, and makes no key that reads more', async () => {
    const email = 'stored-auditor@example.test';
    const on = await signInCopy(issuer, { oidcRoleClaim: 'groups' });
    expect((await on.admin.post('/users', { email, role: 'auditor' })).status).toBe(201);
    expect(await mayDo(on, email, [])).toEqual([200, 403]);
    expect(await mayDo(on, email, ['admin'])).toEqual([200, 201]);
    await on.stop();
    const naming = await signInCopy(issuer, { oidcRoleClaim: 'groups', oidcAuditorValue: 'auditors' });
    expect(await mayDo(naming, email, [])).toEqual([403, 201]);
    const client = clientOf(await issuer.sign({ email, groups: [] }), naming);
    const key = await client.post('/api_keys', {});
    expect([key.status, key.body.error_code]).toEqual([403, 'ERR_NGROK_635']);
    await naming.stop();
  });
});
