import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Answer, ApiClient } from './support/api-client.js';
import { exchange } from './support/http-exchange.js';
import { addAccount, addUser, type TestPrincipal } from './support/principals.js';
import {
  CHECKPOINTS,
  callerOf,
  changesNothing,
  isForGateways,
  prepareSample,
  SAMPLES,
} from './support/route-samples.js';
import { GATEWAY, GATEWAY_TOKEN, type Service, startService } from './support/service.js';

/**
 * Walks every route of the running service, from its own route table. A route that is not in SAMPLES fails the first test:
 * add it there with a call that works, and every test below applies to it.
 */
let service: Service;
let admin: TestPrincipal;
let foreigner: TestPrincipal;
let revokedKey: string;
let routes: string[];

beforeAll(async () => {
  // Every route is tried with bad keys: more failures than one source is allowed in a minute.
  service = await startService({ ...GATEWAY, ...CHECKPOINTS, authFailuresPerMinute: 0 });
  admin = await addUser(service, 'admin');
  foreigner = await addAccount(service);
  const { body: key } = await admin.client.post('/api_keys', {});
  await admin.client.delete(`/api_keys/${key.id}`);
  revokedKey = key.token;
  routes = service.app.routes
    .filter((r) => r.method !== 'HEAD' && !r.isPublic)
    .map(({ method, path }) => `${method} ${path}`);
});
afterAll(() => service.stop());

const prepare = (route: string) => prepareSample({ service, admin }, route);
const caller = (route: string): ApiClient => callerOf({ service, admin }, route);

const newest = async () => {
  const { rows } = await service.pool.query(
    'select *, position::int as position from events where account_id = $1 order by events.position desc limit 1',
    [admin.accountId],
  );
  return rows[0];
};

const withoutOperation = ({ status, body }: Answer) => ({ status, ...body, details: undefined });

describe('every route', () => {
  it('has a sample in this file', () => {
    expect(routes.length).toBeGreaterThan(20);
    expect(routes.filter((route) => SAMPLES[route] === undefined)).toEqual([]);
    expect(Object.keys(SAMPLES).filter((route) => !routes.includes(route))).toEqual([]);
  });

  it('that is open to everyone is in the list of open routes', () => {
    const open = service.app.routes
      .filter((r) => r.isPublic && r.method !== 'HEAD')
      .map((r) => `${r.method} ${r.path}`);
    expect(open.sort()).toEqual([
      'GET /',
      'GET /console',
      'GET /console/:file',
      'GET /docs',
      'GET /docs/:file',
      'GET /livez',
      'GET /openapi.json',
      'GET /readyz',
      'GET /tls_ask',
      'POST /console/once',
    ]);
  });

  it('is for gateways if and only if it is under /ssh_gateway', () => {
    const forGateways = service.app.routes.filter((r) => r.isForGateways).map(({ path }) => path);
    const inThere = service.app.routes.filter(({ path }) => path.startsWith('/ssh_gateway')).map(({ path }) => path);
    expect(forGateways).toEqual(inThere);
  });

  it.each(Object.keys(SAMPLES))('%s refuses a missing, malformed, unknown or revoked key', async (route) => {
    const { path, call } = await prepare(route);
    const before = await newest();
    const [method = ''] = route.split(' ');
    const anonymous = await exchange(`${service.app.url}${path}`, method, {});
    expect([anonymous.status, JSON.parse(anonymous.text).error_code]).toEqual([401, 'ERR_NGROK_200']);
    const refused: [token: string, code: string][] = [
      ['x'.repeat(300), 'ERR_NGROK_202'],
      ['not-a-key-of-anyone', 'ERR_NGROK_203'],
      [revokedKey, 'ERR_NGROK_203'],
      // A gateway is not a principal of an account, and a principal is not a gateway.
      [isForGateways(route) ? (admin.client.token ?? '') : GATEWAY_TOKEN, 'ERR_NGROK_203'],
    ];
    for (const [token, code] of refused) {
      const { status, body, headers } = await call(admin.client.as(token));
      expect([status, body.error_code]).toEqual([401, code]);
      expect(Object.keys(body)).toEqual(['error_code', 'status_code', 'msg', 'details']);
      expect(headers.get('www-authenticate')).toBe('Bearer');
    }
    expect(await newest()).toEqual(before);
  });

  it.each(Object.keys(SAMPLES).filter((route) => route.includes(':id')))(
    '%s answers another account exactly as for an id that does not exist',
    async (route) => {
      const { path, call } = await prepare(route);
      const before = await newest();
      const foreign = await call(foreigner.client);
      const { body } = SAMPLES[route] ?? {};
      const [method = ''] = route.split(' ');
      const id = path.split('/').find((part) => /_[0-9A-Za-z]{27}$/.test(part)) ?? '';
      const unknownPath = path.replace(id, `${id.split('_')[0]}_3MPflUxi65UVJUZK1y0iEJKUOhV`);
      const unknown = await foreigner.client.json(method, unknownPath, await body?.({ service, admin }));
      expect(foreign.status).toBe(404);
      expect(withoutOperation(foreign)).toEqual(withoutOperation(unknown));
      expect(await newest()).toEqual(before);
    },
  );

  it.each(Object.keys(SAMPLES).filter((route) => !changesNothing(route)))(
    '%s works as its sample calls it, and records an event that names who, with which key, from where and in which operation',
    async (route) => {
      const { call } = await prepare(route);
      const before = await newest();
      const answer = await call(caller(route));
      expect([200, 201, 204]).toContain(answer.status);
      const event = await newest();
      expect(event.position).toBeGreaterThan(before.position);
      expect(answer.headers.get('log-position')).toBe(String(event.position));
      const who = /enroll$/.test(route)
        ? { actor: expect.stringMatching(/^enk_/) }
        : { actor: admin.id, api_key_id: admin.keyId };
      expect(JSON.parse(event.metadata)).toEqual({
        ...who,
        ip: '127.0.0.1',
        user_agent: 'walker/1.0',
        operation_id: answer.headers.get('ngrok-operation-id'),
      });
    },
  );

  it.each(Object.keys(SAMPLES).filter(changesNothing))(
    '%s works as its sample calls it, and records no event',
    async (route) => {
      const { call } = await prepare(route);
      const before = await newest();
      expect([200, 201, 204]).toContain((await call(caller(route))).status);
      expect(await newest()).toEqual(before);
    },
  );
});
