import { expect, it } from '@jest/globals';
import { type Answer, ApiClient } from '../support/api-client.js';
import { newPublicKey } from '../support/keys.js';
import { logLines, type RunningMain, stopMain } from '../support/process.js';
import { start, useStarts } from '../support/starts.js';
import { ALONE, childrenOf, pidsIn } from '../support/workers.js';

useStarts();

const LIMIT = 30;
const TWO_WORKERS = { WORKERS: '2', LOG_REQUESTS: 'all', ACCOUNT_REQUESTS_PER_MINUTE: String(LIMIT) };

/** The client of the admin, by the key that the start printed. */
async function adminOf(main: RunningMain): Promise<ApiClient> {
  const url = await main.url;
  const [key, ...further] = logLines(main).flatMap(({ api_key }) => (api_key === undefined ? [] : [String(api_key)]));
  expect(further).toEqual([]);
  return new ApiClient(url, String(key));
}

it('two workers share the embedded server of the primary, which prints one key and keeps the data', async () => {
  const first = start(TWO_WORKERS);
  const admin = await adminOf(first);
  const { body } = await admin.post('/ssh_credentials', { public_key: newPublicKey() }, ALONE);
  expect((await admin.get(`/ssh_credentials/${body.id}`, ALONE)).body).toEqual(body);
  const pids = [...pidsIn(first).values()];
  expect(pids).toHaveLength(2);
  expect(pids.flatMap(childrenOf)).toEqual([]);
  expect(await stopMain(first)).toMatchObject({ code: 0 });

  const second = start(TWO_WORKERS);
  const again = new ApiClient(await second.url, admin.token);
  const kept = (await again.get(`/ssh_credentials/${body.id}`, ALONE)).body;
  expect(kept).toMatchObject({ id: body.id, public_key: body.public_key });
  expect(await stopMain(second)).toMatchObject({ code: 0 });
});

it('the limit of the requests of an account holds for all its keys and all workers together', async () => {
  const main = start(TWO_WORKERS);
  const admin = await adminOf(main);
  const { body } = await admin.post('/api_keys', {}, ALONE);
  const clients = [admin, admin.as(body.token)];
  const sent: Promise<Answer>[] = Array.from({ length: LIMIT }).flatMap(() =>
    clients.map((client) => client.get('/ssh_credentials?limit=1', ALONE)),
  );
  const statuses = (await Promise.all(sent)).map(({ status }) => status).sort();
  expect(statuses).toEqual([...Array(LIMIT - 1).fill(200), ...Array(LIMIT + 1).fill(429)]);
  expect(pidsIn(main).size).toBe(2);
});
