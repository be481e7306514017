import { describe, expect, it } from '@jest/globals';
import { IdSource } from '../src/kernel/ids.js';
import { ApiClient } from './support/api-client.js';
import { useInstances } from './support/instances.js';
import { GATEWAY, GATEWAY_TOKEN } from './support/service.js';
import { ReportingGateway } from './support/session-reports.js';

const withService = useInstances();

const statusOf = async (client: ApiClient): Promise<number> => (await client.get('/ssh_gateway/metrics')).status;

describe('the routes for gateways', () => {
  it('do not exist without GATEWAY_TOKENS: they answer like any unknown route', async () => {
    await withService({}, async ({ app, admin }) => {
      expect(app.routes.filter(({ path }) => path.startsWith('/ssh_gateway'))).toEqual([]);
      const answerOf = async (path: string, token: string | undefined, method: string) => {
        const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
        const response = await fetch(`${app.url}${path}`, { method, headers });
        const { details: _, ...body } = (await response.json()) as Record<string, unknown>;
        return { status: response.status, allow: response.headers.get('allow'), body };
      };
      for (const token of [undefined, admin.token, GATEWAY_TOKEN]) {
        for (const [method, route] of [
          ['POST', 'identify'],
          ['POST', 'authorize'],
          ['POST', 'recheck'],
          ['GET', 'authorized_keys'],
          ['GET', 'edges'],
          ['GET', 'metrics'],
        ] as const) {
          const unknown = await answerOf('/nowhere/at_all', token, method);
          expect(unknown.status).toBe(404);
          expect(await answerOf(`/ssh_gateway/${route}`, token, method)).toEqual(unknown);
        }
      }
      const document = JSON.stringify((await admin.get('/openapi.json')).body);
      expect(document).not.toContain('/ssh_gateway');
    });
  });

  it('accept every token of the list, so that an operator can rotate them gateway by gateway', async () => {
    const tokens = ['the-old-token-of-gateways', 'the-new-token-of-gateways'];
    await withService({ gatewayTokens: tokens.map((token) => ({ token })) }, async ({ gateway }) => {
      for (const token of tokens) expect(await statusOf(gateway.as(token))).toBe(200);
      expect(await statusOf(gateway)).toBe(401);
      for (const almost of [
        tokens.join(','),
        `${tokens[0]}x`,
        tokens[0]?.slice(0, -1) ?? '',
        'The-old-token-of-gateways',
      ]) {
        expect([almost, await statusOf(gateway.as(almost))]).toEqual([almost, 401]);
      }
    });
  });

  it('take two tokens without names for two gateways, also at an instance that lists them in another order', async () => {
    const [one, other] = ['one-token-without-a-name', 'other-token-without-a-name'];
    const listing = (...tokens: readonly string[]) => ({ gatewayTokens: tokens.map((token) => ({ token })) });
    await withService(listing(one, other), ({ gateway: here }) =>
      withService(listing(other, one), async ({ gateway: there, pool }) => {
        const run = new ReportingGateway(here.as(one));
        await run.send();
        const report = async (token: string, gateway_id: string) =>
          (await there.as(token).post('/ssh_gateway/sessions', { gateway_id, report: 2 })).status;
        expect([await report(other, run.id), await report(one, run.id)]).toEqual([403, 200]);
        // As many as a token may have.
        const more = `insert into gateway_runs select (jsonb_populate_record(g, jsonb_build_object('id', g.id || n))).*
          from gateway_runs g, generate_series(1, 99) n where g.id = $1`;
        await pool.query(more, [run.id]);
        const ids = new IdSource();
        expect([await report(one, ids.next('gw')), await report(other, ids.next('gw'))]).toEqual([429, 200]);
        const { rows } = await pool.query('select distinct token from gateway_runs');
        expect(JSON.stringify(rows)).not.toContain('without-a-name');
      }),
    );
  });

  it('refuse API keys, even of admins, and every other route refuses gateway tokens', async () => {
    await withService(GATEWAY, async ({ admin, gateway }) => {
      expect(await statusOf(admin)).toBe(401);
      for (const path of ['/ssh_credentials', '/bind_decisions', '/edges/tcp', '/users', '/api_keys']) {
        expect([path, (await gateway.get(path)).status]).toEqual([path, 401]);
      }
    });
  });

  it('name the gateway token in their messages', async () => {
    await withService(GATEWAY, async ({ app, admin }) => {
      const answerTo = async (authorization: string | undefined) => {
        const headers = authorization === undefined ? {} : { authorization };
        const response = await fetch(`${app.url}/ssh_gateway/metrics`, { headers });
        return [response.status, ((await response.json()) as { msg: string }).msg];
      };
      expect(await answerTo(undefined)).toEqual([
        401,
        'Send a gateway token in the header "Authorization: Bearer <gateway token>".',
      ]);
      expect(await answerTo('Basic x')).toEqual([
        401,
        'The Authorization header must have the form "Bearer <gateway token>".',
      ]);
      expect(await answerTo('Bearer a b')).toEqual([
        401,
        'The gateway token does not have the form of a gateway token.',
      ]);
      expect(await answerTo(`Bearer ${admin.token}`)).toEqual([
        401,
        'The gateway token is not one of this deployment.',
      ]);
    });
  });

  it('do not read a body without a token', async () => {
    await withService(GATEWAY, async ({ app }) => {
      const response = await fetch(`${app.url}/ssh_gateway/recheck`, { method: 'POST', body: 'not even JSON' });
      expect(response.status).toBe(401);
    });
  });

  it('count failures together with those of API keys; gateways behind the same address still work', async () => {
    await withService({ ...GATEWAY, authFailuresPerMinute: 3 }, async ({ admin, gateway }) => {
      const guess = gateway.as('not-a-token-of-this-deployment');
      expect([await statusOf(guess), await statusOf(guess)]).toEqual([401, 401]);
      expect((await admin.as('not-a-key-of-anyone').get('/ssh_credentials')).status).toBe(401);
      expect(await statusOf(guess)).toBe(429);
      expect(await statusOf(gateway)).toBe(200);
    });
  });
});
