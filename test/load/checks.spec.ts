import { beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient } from '../support/api-client.js';
import { newPublicKey } from '../support/keys.js';
import { addAccount, type TestPrincipal } from '../support/principals.js';
import { startMain } from '../support/process.js';
import { GATEWAY_TOKEN, startService } from '../support/service.js';

const CONNECTIONS = 30;
const QUESTIONS = 100;
/** Of the flood before checks were worked on in turns: more than 400 ms, on two idle cores. */
const MAX_P90_MS = 100;

const ACL = Array.from({ length: 1_000 }, (_, n) => `bind:*.a${n}.some-longer-name.example.com:${n + 1}`);
const TARGETS = Array.from({ length: 1_000 }, (_, n) => ({ domain: `x.y.z.b${n}.some-longer-name.example.com` }));

/** A process of its own, on the database of a service of this one. */
let url: string;
let flooding: TestPrincipal;
let neighbour: TestPrincipal;
beforeAll(async () => {
  const service = await startService();
  [flooding, neighbour] = [await addAccount(service), await addAccount(service)];
  url = await startMain({ DATABASE_URL: service.databaseUrl, GATEWAY_TOKENS: GATEWAY_TOKEN, LOG_LEVEL: 'warn' }).url;
});

const at = ({ client }: TestPrincipal): ApiClient => new ApiClient(url, client.token);

async function p90Of(ask: () => Promise<{ readonly status: number }>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < QUESTIONS; n += 1) {
    const start = performance.now();
    expect((await ask()).status).toBe(200);
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[QUESTIONS * 0.9] ?? Number.NaN;
}

describe(`while ${CONNECTIONS} connections of an account check 1,000 rules and 1,000 targets without pause`, () => {
  it.each([
    ['rules', async () => '/acl/check', { acl: ACL, target: TARGETS }],
    [
      'a credential',
      async () => {
        const { body } = await at(flooding).post('/ssh_credentials', { public_key: newPublicKey(), acl: ACL });
        return `/ssh_credentials/${body.id}/check`;
      },
      { target: TARGETS },
    ],
  ])('of %s, the GET, PATCH and authorize of another account are answered at once', async (_, pathOf, body) => {
    const [path, flooder, client] = [await pathOf(), at(flooding), at(neighbour)];
    const key = newPublicKey();
    const own = `/ssh_credentials/${(await client.post('/ssh_credentials', { public_key: key })).body.id}`;
    const gateway = new ApiClient(url, GATEWAY_TOKEN);
    let isOver = false;
    const statuses = new Set<number>();
    const floods = Array.from({ length: CONNECTIONS }, async () => {
      while (!isOver) statuses.add((await flooder.post(path, body)).status);
    });
    let change = 0;
    const questions = {
      get: () => client.get(own),
      patch: () => {
        change += 1;
        return client.patch(own, { description: `${change}` });
      },
      authorize: () => gateway.post('/ssh_gateway/authorize', { public_key: key, target: { domain: 'a.example' } }),
    };
    for (const ask of Object.values(questions)) expect(await p90Of(ask)).toBeLessThan(MAX_P90_MS);
    isOver = true;
    await Promise.all(floods);
    expect([...statuses]).toEqual([200]);
  });
});
