import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { type Answer, ApiClient } from './support/api-client.js';
import { takeLines } from './support/error-lines.js';
import { useInstances } from './support/instances.js';
import { AUDIENCE, newSigningKey, TestIssuer } from './support/oidc-issuer.js';
import { runCli } from './support/process.js';
import { ADMIN_KEY, GATEWAY, type Service } from './support/service.js';

afterEach(() => {
  jest.restoreAllMocks();
});

const LIST = '/ssh_credentials?limit=1';

const withService = useInstances();

async function statuses(client: ApiClient, count: number, path = LIST): Promise<number[]> {
  const answers: number[] = [];
  for (let n = 0; n < count; n += 1) answers.push((await client.get(path)).status);
  return answers;
}

const limitHeaders = ({ headers }: Answer) => [headers.get('ratelimit-policy'), headers.get('ratelimit')];

/** The key that an operator makes on the command line, which counts as no request. */
async function keyFrom({ app, databaseUrl }: Service, ...args: string[]): Promise<ApiClient> {
  const { stdout } = await runCli({ DATABASE_URL: databaseUrl }, ...args);
  const key = /[0-9A-Za-z]{27}_[\w-]{32}/.exec(stdout)?.[0];
  if (key === undefined) throw new Error(`no key in ${stdout}`);
  return new ApiClient(app.url, key);
}

const newKey = (service: Service) => keyFrom(service, 'api-keys', 'create');
const keyOfAnotherAccount = (service: Service) => keyFrom(service, 'accounts', 'create', 'Other', '--same-name');

describe('without a limit of requests', () => {
  it('no answer has a header about limits, and no request is refused', async () => {
    await withService({}, async ({ admin }) => {
      expect(new Set(await statuses(admin, 20))).toEqual(new Set([200]));
      expect(limitHeaders(await admin.get(LIST))).toEqual([null, null]);
    });
  });
});

describe('KEY_REQUESTS_PER_MINUTE', () => {
  it('refuses the requests of a key beyond it with 429 until its window is over', async () => {
    await withService({ keyRequestsPerMinute: 3 }, async ({ admin }) => {
      const start = performance.now();
      const clock = jest.spyOn(performance, 'now').mockImplementation(() => start);
      const first = await admin.get(LIST);
      expect(first.status).toBe(200);
      expect(limitHeaders(first)).toEqual(['"key";q=3;w=60', '"key";r=2;t=60']);
      clock.mockImplementation(() => start + 17_500);
      expect(await statuses(admin, 2)).toEqual([200, 200]);
      const refused = await admin.get(LIST);
      expect(refused).toMatchObject({
        status: 429,
        body: {
          error_code: 'ERR_NGROK_226',
          status_code: 429,
          msg: 'This API key sent more than 3 requests in a minute; try again in 43 s.',
          details: { operation_id: expect.stringMatching(/^op_/) },
        },
      });
      expect(refused.headers.get('retry-after')).toBe('43');
      expect(limitHeaders(refused)).toEqual(['"key";q=3;w=60', '"key";r=0;t=43']);
      clock.mockImplementation(() => start + 59_999);
      expect(await statuses(admin, 1)).toEqual([429]);
      clock.mockImplementation(() => start + 60_000);
      expect(await statuses(admin, 4)).toEqual([200, 200, 200, 429]);
    });
  });

  it('counts every method and every error after authentication, but never twice', async () => {
    await withService({ keyRequestsPerMinute: 5 }, async ({ admin }) => {
      const remaining = async (answer: Promise<Answer>) => limitHeaders(await answer)[1]?.replace(/;t=.*/, '');
      expect(await remaining(admin.send('HEAD', LIST, undefined))).toBe('"key";r=4');
      expect(await remaining(admin.post('/ssh_credentials', {}))).toBe('"key";r=3');
      expect(await remaining(admin.get('/ssh_credentials/unknown'))).toBe('"key";r=2');
      // Not authenticated: these have no key that could count.
      expect(await remaining(admin.get('/nope'))).toBeUndefined();
      expect(await remaining(admin.as('not-a-key-of-anyone').get(LIST))).toBeUndefined();
      expect(await remaining(admin.get(LIST))).toBe('"key";r=1');
    });
  });

  it('refuses a change before its body is read, and stores nothing', async () => {
    await withService({ keyRequestsPerMinute: 1 }, async ({ admin, pool }) => {
      await admin.get(LIST);
      const events = async () => (await pool.query('select count(*)::int as n from events')).rows[0].n;
      const before = await events();
      expect((await admin.send('POST', '/bot_users', '{')).status).toBe(429);
      expect((await admin.post('/bot_users', { name: 'deploy' })).status).toBe(429);
      expect(await events()).toBe(before);
    });
  });

  it('does not limit the questions of gateways, nor public routes', async () => {
    await withService({ ...GATEWAY, keyRequestsPerMinute: 1, accountRequestsPerMinute: 1 }, async (service) => {
      expect(await statuses(service.admin, 2)).toEqual([200, 429]);
      expect(await statuses(service.gateway, 5, '/ssh_gateway/metrics')).toEqual([200, 200, 200, 200, 200]);
      expect(limitHeaders(await service.gateway.get('/ssh_gateway/metrics'))).toEqual([null, null]);
      expect(await statuses(service.admin, 3, '/openapi.json')).toEqual([200, 200, 200]);
    });
  });

  it('comes after authentication: a guesser learns nothing from it', async () => {
    await withService({ keyRequestsPerMinute: 1, authFailuresPerMinute: 2 }, async ({ admin }) => {
      expect(await statuses(admin, 2)).toEqual([200, 429]);
      expect(await statuses(admin.as('not-a-key-of-anyone'), 3)).toEqual([401, 401, 429]);
      expect(limitHeaders(await admin.as('not-a-key-of-anyone').get(LIST))).toEqual([null, null]);
    });
  });
});

describe('ACCOUNT_REQUESTS_PER_MINUTE', () => {
  it('limits the keys of an account together, and no other account', async () => {
    await withService({ accountRequestsPerMinute: 3 }, async (service) => {
      const [second, other] = [await newKey(service), await keyOfAnotherAccount(service)];
      expect(await statuses(service.admin, 2)).toEqual([200, 200]);
      expect(await statuses(second, 2)).toEqual([200, 429]);
      const refused = await service.admin.get(LIST);
      expect(refused.body.msg).toMatch(/^This account sent more than 3 requests in a minute; try again in \d+ s\.$/);
      expect(limitHeaders(refused)[0]).toBe('"account";q=3;w=60');
      expect(await statuses(other, 3)).toEqual([200, 200, 200]);
    });
  });

  it('beside a limit of keys: one key cannot use up what the others share', async () => {
    await withService({ keyRequestsPerMinute: 2, accountRequestsPerMinute: 4 }, async (service) => {
      const second = await newKey(service);
      const first = await service.admin.get(LIST);
      expect(limitHeaders(first)).toEqual([
        '"key";q=2;w=60, "account";q=4;w=60',
        expect.stringMatching(/^"key";r=1;t=\d+, "account";r=3;t=\d+$/),
      ]);
      expect(await statuses(service.admin, 9)).toEqual([200, ...Array<number>(8).fill(429)]);
      expect(await statuses(second, 3)).toEqual([200, 200, 429]);
    });
  });
});

describe('a user with a token of the issuer', () => {
  it('is counted by the user, whatever the token', async () => {
    const issuer = await TestIssuer.start(await newSigningKey('es-1'));
    const settings = { oidcIssuer: issuer.url, oidcAudience: AUDIENCE, keyRequestsPerMinute: 2 };
    await withService(settings, async ({ admin }) => {
      const tokens = [1, 2, 3].map((n) => issuer.sign({ email: 'admin@localhost', jti: `token-${n}` }));
      const answers: Answer[] = [];
      for (const token of await Promise.all(tokens)) answers.push(await admin.as(token).get(LIST));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
      expect(answers[2]?.body.msg).toMatch(/^This user sent more than 2 requests in a minute/);
      expect(await statuses(admin, 3)).toEqual([200, 200, 429]);
    });
    await issuer.stop();
  });
});

describe('the log', () => {
  it('has one line for each window that a caller exceeds', async () => {
    await withService({ keyRequestsPerMinute: 3, accountRequestsPerMinute: 100 }, async ({ admin }) => {
      const taken = takeLines();
      expect(await statuses(admin, 10)).toEqual([200, 200, 200, ...Array<number>(7).fill(429)]);
      const lines = taken.end();
      expect(lines.filter(({ message }) => message.includes('requests in a minute'))).toEqual([
        expect.objectContaining({
          level: 'warn',
          message: expect.stringMatching(/ak_\w{27} of ac_\w{27} sent more than 3 requests in a minute/),
        }),
      ]);
      expect(JSON.stringify(lines)).not.toContain(ADMIN_KEY);
    });
  });
});
