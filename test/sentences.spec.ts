import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ADMIN_KEY, type Service, startService } from './support/service.js';

/** What people send by mistake, and the sentence that names it. */
let service: Service;
beforeAll(async () => {
  service = await startService({ authFailuresPerMinute: 0 });
});
afterAll(() => service.stop());

const KSUID = '3MPflUxi65UVJUZK1y0iEJKUOhV';

async function send(method: string, path: string, body?: string, token = ADMIN_KEY) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await fetch(service.app.url + path, { method, headers, ...(body !== undefined && { body }) });
  const { error_code, msg } = (await answer.json()) as { error_code: string; msg: string };
  return { status: answer.status, error_code, msg, allow: answer.headers.get('allow') };
}

describe('an id of another kind is named as such', () => {
  it.each([
    ['GET', `/ssh_credentials/edgtcp_${KSUID}`, 'a TCP edge, which is at /edges/tcp/{id}', 'ERR_TAS_404'],
    ['DELETE', `/users/bot_${KSUID}`, 'a bot, which is at /bot_users/{id}', 'ERR_TAS_404'],
    ['GET', `/edges/tcp/bkdtg_${KSUID}/backend`, 'a tunnel group', 'ERR_NGROK_7000'],
    ['GET', `/ip_policies/op_${KSUID}/events`, 'a request', 'ERR_NGROK_341'],
  ])('%s %s', async (method, path, says, code) => {
    expect(await send(method, path)).toMatchObject({
      status: 404,
      error_code: code,
      msg: expect.stringContaining(says),
    });
  });

  it.each([`/ssh_credentials/sshcr_${KSUID}`, `/service_users/bot_${KSUID}`, '/users/ada'])(
    'and an unknown one is not: %s',
    async (path) => {
      expect(await send('GET', path)).toMatchObject({ status: 404, msg: 'Resource not found' });
    },
  );
});

describe('a call of the public API that has no counterpart here is not supported, whatever its id', () => {
  it.each([
    ['POST', `/tunnel_sessions/ts_${KSUID}/update`, 'agents'],
    ['DELETE', `/reserved_domains/rd_${KSUID}/certificate`, 'certificates'],
    ['DELETE', `/reserved_domains/rd_${KSUID}/certificate_management_policy`, 'certificates'],
    ['POST', '/ssh_credentials/batch', 'batches'],
    ['POST', '/edges/tcp/bulk?x=1', 'batches'],
  ])('%s %s', async (method, path, says) => {
    expect(await send(method, path, '{}')).toMatchObject({ status: 501, msg: expect.stringContaining(says) });
  });
});

it.each(['/log/tile/0/000', '/log/checkpoint', `/ssh_credentials/sshcr_${KSUID}/usage`])(
  'a path without the method says which it has: POST %s',
  async (path) => {
    expect(await send('POST', path, '{}')).toMatchObject({ status: 404, allow: expect.stringContaining('GET') });
  },
);

describe('JSON with a character that looks like another one, or like nothing, names it', () => {
  it.each([
    ['\ufeff{"description":"x"}', 'a byte order mark (at character 1)'],
    ['{\u200b"description":"x"}', 'no width (at character 2)'],
    ['{"description":\u00a0"x"}', 'a no-break space (at character 16)'],
    ['{\u3000"description":"x"}', 'a full-width blank'],
    ['{"description":\u201cx\u201d}', 'a quotation mark of typography'],
    ['{"description":"\u2014"\u2014}', 'a dash of typography (at character 19)'],
    ['{"description"\uff1a"x"}', 'a full-width sign'],
  ])('%j', async (body, says) => {
    const answer = await send('POST', '/ip_policies', body);
    expect(answer).toMatchObject({ status: 400, error_code: 'ERR_NGROK_213', msg: expect.stringContaining(says) });
  });
});

it.each([`"${ADMIN_KEY}"`, `'${ADMIN_KEY}'`, `<${ADMIN_KEY}>`])('a token in quotes is named as such', async (token) => {
  const answer = await send('GET', '/ip_policies', undefined, token);
  expect(answer).toMatchObject({ status: 401, error_code: 'ERR_NGROK_202', msg: expect.stringContaining('quotes') });
  expect(answer.msg).not.toContain(ADMIN_KEY);
});

it.each([
  ['{"key":"ssh-ed25519 AAAA"}', 'JSON'],
  ['SHA256:UNhY4JhezH9gQYqvDMWrWH9CwlcKiECVqejMrND2VFw', 'fingerprint'],
])('public_key as %s is named as such', async (key, says) => {
  const answer = await send('POST', '/ssh_credentials', JSON.stringify({ public_key: key }));
  expect(answer).toMatchObject({ status: 400, error_code: 'ERR_NGROK_612', msg: expect.stringContaining(says) });
});
