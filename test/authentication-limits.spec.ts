import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { type Answer, ApiClient } from './support/api-client.js';
import { takeLines } from './support/error-lines.js';
import { useInstances } from './support/instances.js';
import { newPublicKey } from './support/keys.js';
import { ADMIN_KEY } from './support/service.js';

afterEach(() => {
  jest.restoreAllMocks();
});

const guess = (url: string, headers: Record<string, string> = {}, key = 'not-a-key-of-anyone'): Promise<Answer> =>
  new ApiClient(url, key).get('/ssh_credentials', headers);

async function guesses(url: string, count: number, headers: Record<string, string> = {}): Promise<number[]> {
  const answers: number[] = [];
  for (let n = 0; n < count; n += 1) answers.push((await guess(url, headers)).status);
  return answers;
}

const times = (count: number, status: number): number[] => Array<number>(count).fill(status);

const withService = useInstances();

describe('failed authentications of one source', () => {
  it('answer 401 a hundred times, then 429 until the minute is over; a valid key still works', async () => {
    await withService({}, async ({ app, admin }) => {
      const start = performance.now();
      const clock = jest.spyOn(performance, 'now').mockImplementation(() => start);
      expect(await guesses(app.url, 100)).toEqual(times(100, 401));
      clock.mockImplementation(() => start + 17_500);
      const refused = await guess(app.url);
      expect(refused).toMatchObject({
        status: 429,
        body: { error_code: 'ERR_NGROK_226', msg: expect.stringMatching(/more than 100 failed .* in 43 s/) },
      });
      expect(refused.headers.get('retry-after')).toBe('43');
      expect(refused.headers.get('www-authenticate')).toBeNull();
      expect((await admin.get('/ssh_credentials')).status).toBe(200);
      clock.mockImplementation(() => start + 17_500 + 42_000);
      expect((await guess(app.url)).status).toBe(429);
      clock.mockImplementation(() => start + 17_500 + 43_000);
      expect((await guess(app.url)).status).toBe(401);
    });
  });

  it('count for malformed keys, other schemes and tokens', async () => {
    await withService({ authFailuresPerMinute: 3 }, async ({ app }) => {
      const bare = new ApiClient(app.url, undefined);
      const statusOf = async (authorization: string) => (await bare.get('/ssh_credentials', { authorization })).status;
      const attempts = ['Bearer', `Bearer ${'x'.repeat(300)}`, 'Basic eDp5', 'Bearer eyJhbGciOiJub25lIn0.e30.'];
      const statuses: number[] = [];
      for (const attempt of attempts) statuses.push(await statusOf(attempt));
      expect(statuses).toEqual([401, 401, 401, 429]);
      // A request without credentials is no guess: it does not count, and it does not get 429.
      expect((await bare.get('/ssh_credentials')).status).toBe(401);
    });
  });

  it('do not count requests without credentials, nor inactive owners of valid keys', async () => {
    await withService({ authFailuresPerMinute: 1 }, async ({ app, pool, admin }) => {
      const bare = new ApiClient(app.url, undefined);
      for (let n = 0; n < 5; n += 1) expect((await bare.get('/ssh_credentials')).status).toBe(401);
      await pool.query('update principals set active = false');
      for (let n = 0; n < 5; n += 1) expect((await admin.get('/ssh_credentials')).status).toBe(403);
      await pool.query('update principals set active = true');
      expect(await guesses(app.url, 2)).toEqual([401, 429]);
    });
  });

  it('are not limited if the limit is 0', async () => {
    await withService({ authFailuresPerMinute: 0 }, async ({ app }) => {
      expect(await guesses(app.url, 101)).toEqual(times(101, 401));
    });
  });
});

describe('a source', () => {
  it('is the address that a trusted proxy names; other addresses are unaffected', async () => {
    await withService({ authFailuresPerMinute: 2, trustedProxies: ['127.0.0.1'] }, async ({ app }) => {
      const from = (address: string) => ({ 'x-forwarded-for': address });
      expect(await guesses(app.url, 3, from('192.0.2.1'))).toEqual([401, 401, 429]);
      expect(await guesses(app.url, 1, from('192.0.2.2'))).toEqual([401]);
      // The proxy appends the real address, to the right of the caller's own text.
      expect(await guesses(app.url, 1, from('203.0.113.9, 192.0.2.1'))).toEqual([429]);
      expect(await guesses(app.url, 2, from('2001:db8:0:1::1'))).toEqual([401, 401]);
      expect(await guesses(app.url, 1, from('2001:db8:0:1:ffff::2'))).toEqual([429]);
      expect(await guesses(app.url, 1, from('2001:db8:0:2::1'))).toEqual([401]);
    });
  });

  it.each<[string, string[], string[]]>([
    ['no address, from a trusted proxy', ['127.0.0.1'], ['one', 'two', 'three']],
    ['any address, from a proxy that is not trusted', ['10.0.0.1'], ['192.0.2.1', '192.0.2.2', '192.0.2.3']],
    ['any address, if none is trusted', [], ['192.0.2.1', '192.0.2.2', '192.0.2.3']],
  ])('is the address of the socket if X-Forwarded-For has %s', async (_, trustedProxies, texts) => {
    await withService({ authFailuresPerMinute: 2, trustedProxies }, async ({ app }) => {
      const statuses: number[] = [];
      for (const text of texts) statuses.push((await guess(app.url, { 'x-forwarded-for': text })).status);
      expect(statuses).toEqual([401, 401, 429]);
    });
  });

  it('is the address in the event of a change, which never holds another text', async () => {
    await withService({ trustedProxies: ['127.0.0.1'] }, async ({ admin, pool }) => {
      const ipOfChange = async (forwarded: string): Promise<unknown> => {
        const headers = { 'x-forwarded-for': forwarded };
        const { body } = await admin.post('/ssh_credentials', { public_key: newPublicKey() }, headers);
        const { rows } = await pool.query(`select metadata::json ->> 'ip' as ip from events where stream_id = $1`, [
          body.id,
        ]);
        return rows[0].ip;
      };
      expect(await ipOfChange('192.0.2.1')).toBe('192.0.2.1');
      expect(await ipOfChange('<script>')).toBe('127.0.0.1');
      // Some proxies write the port of the client, and of the proxy before them.
      expect(await ipOfChange('192.0.2.5:51234')).toBe('192.0.2.5');
      expect(await ipOfChange('[2001:db8::5]:51234')).toBe('2001:db8::5');
      expect(await ipOfChange('[2001:db8::5]')).toBe('2001:db8::5');
      expect(await ipOfChange('192.0.2.5:51234, 127.0.0.1:80')).toBe('192.0.2.5');
      expect(await ipOfChange('192.0.2.5:port')).toBe('127.0.0.1');
    });
  });

  it('behind a trusted proxy gets URIs with the scheme and host of the proxy, but only http and https', async () => {
    await withService({ trustedProxies: ['127.0.0.1'] }, async ({ admin }) => {
      const uriWith = async (proto: string) => {
        const headers = { 'x-forwarded-proto': proto, 'x-forwarded-host': 'api.example.test' };
        return (await admin.get('/ssh_credentials', headers)).body.uri;
      };
      expect(await uriWith('https')).toBe('https://api.example.test/ssh_credentials');
      expect(await uriWith('javascript')).toBe('http://api.example.test/ssh_credentials');
    });
  });
});

describe('the log', () => {
  it('has one line for a source beyond the limit, without its keys', async () => {
    await withService({ authFailuresPerMinute: 3 }, async ({ app }) => {
      const taken = takeLines();
      for (let n = 0; n < 20; n += 1) await guess(app.url, {}, `${ADMIN_KEY}-with-a-typing-error`);
      const lines = taken.end();
      expect(lines.filter(({ message }) => message.includes('failed authentications'))).toEqual([
        expect.objectContaining({
          level: 'warn',
          message: expect.stringMatching(/more than 3 failed authentications in a minute from 127\.0\.0\.1/),
        }),
      ]);
      expect(JSON.stringify(lines)).not.toContain('typing-error');
      expect(JSON.stringify(lines)).not.toContain(ADMIN_KEY);
    });
  });
});
