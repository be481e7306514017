import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PARAMETERS_OF_LISTS } from '../src/api/http/hooks/check-query.js';
import { type Answer, ApiClient } from './support/api-client.js';
import { DOCUMENT } from './support/outside/openapi-schemas.mjs';
import { addUser, type TestPrincipal } from './support/principals.js';
import { CHECKPOINTS, isForGateways, prepareSample, SAMPLES } from './support/route-samples.js';
import { GATEWAY, type Service, startCopy, startService } from './support/service.js';

interface Operation {
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
}

const { paths }: { readonly paths: Record<string, Record<string, Operation>> } = DOCUMENT;

/** The query parameters that openapi.json has for a route. */
function documentedFor(route: string): string[] {
  const [method = '', path = ''] = route.split(' ');
  const operation = paths[path.replace(':id', '{id}')]?.[method.toLowerCase()];
  return (operation?.parameters ?? []).filter((one) => one.in === 'query').map(({ name }) => name);
}

/** These refuse an unknown parameter; the other routes ignore it, except in strict mode. */
const REFUSES_UNKNOWN =
  /^GET \/(events|log\/(?:export|records)|bind_decisions|.+_records|.+\/events|tunnel_sessions\/changes)$/;
const ROUTES = Object.keys(SAMPLES);
const DOCUMENTED = ROUTES.flatMap((route) => documentedFor(route).map((name) => [route, name] as const));
/** Official clients send these empty. */
const OF_PAGES = ['limit', 'before_id', 'after'];

let service: Service;
let strict: Awaited<ReturnType<typeof startCopy>>;
let admin: TestPrincipal;
beforeAll(async () => {
  service = await startService({ ...GATEWAY, ...CHECKPOINTS });
  strict = await startCopy(service, { ...GATEWAY, strict: true });
  admin = await addUser(service, 'admin');
});
afterAll(async () => {
  await strict.stop();
  await service.stop();
});

/** Gives every request of another client a query, in place of the sample's own values of these names. */
class WithQuery extends ApiClient {
  constructor(
    { url, token }: ApiClient,
    private readonly query: string,
  ) {
    super(url, token);
  }

  override send(method: string, path: string, body?: string | Buffer, headers: Record<string, string> = {}) {
    const [route = '', own] = path.split('?');
    const query = new URLSearchParams(own);
    for (const name of new URLSearchParams(this.query).keys()) query.delete(name);
    return super.send(method, `${route}?${[...(query.size > 0 ? [query] : []), this.query].join('&')}`, body, headers);
  }
}

const callerOf = (route: string): ApiClient => (isForGateways(route) ? service.gateway : admin.client);

/** The sample of a route with a further query. */
async function callWith(route: string, query: string, caller = callerOf(route)): Promise<Answer> {
  const { call } = await prepareSample({ service, admin }, route);
  return call(new WithQuery(caller, query));
}

const samples = new Map<string, ReturnType<typeof prepareSample>>();

/** The same for a query that is refused, so that the sample can be called again. */
async function refusedWith(route: string, query: string, caller = callerOf(route)): Promise<unknown[]> {
  const sample = samples.get(route) ?? prepareSample({ service, admin }, route);
  samples.set(route, sample);
  return refusal(await (await sample).call(new WithQuery(caller, query)));
}

const refusal = ({ status, body }: Answer) => [status, body?.error_code, body?.msg];
const supported = (route: string): string => {
  const names = documentedFor(route).join(', ');
  return `it takes ${names === '' ? 'no query parameters' : names}.`;
};

describe('every route', () => {
  it.each(ROUTES)('%s refuses a filter, and as_of if it cannot answer it, and names what it takes', async (route) => {
    const message = (name: string) => `This route has no query parameter '${name}'; ${supported(route)}`;
    expect(await refusedWith(route, 'filter=obj.id=="x"')).toEqual([400, 'ERR_TAS_400', message('filter')]);
    if (documentedFor(route).includes('as_of')) return;
    expect(await refusedWith(route, 'as_of=1')).toEqual([400, 'ERR_TAS_400', message('as_of')]);
  });

  it.each(DOCUMENTED)('%s refuses an empty %s, unless clients send it empty', async (route, name) => {
    if (OF_PAGES.includes(name)) return expect((await callWith(route, `${name}=`)).status).toBe(200);
    const message = `${name} is empty; give it a value, or leave it out.`;
    expect(await refusedWith(route, `${name}=`)).toEqual([400, 'ERR_TAS_400', message]);
  });

  it.each(DOCUMENTED)('%s refuses %s given twice', async (route, name) => {
    const message = new RegExp(`^${name} is given \\d times; give it once\\.$`);
    expect(await refusedWith(route, `${name}=1&${name}=1`)).toEqual([
      400,
      'ERR_TAS_400',
      expect.stringMatching(message),
    ]);
  });

  it.each(ROUTES)('%s ignores an unknown parameter, or refuses it if it shows what happened', async (route) => {
    if (!REFUSES_UNKNOWN.test(route)) {
      return expect((await callWith(route, 'filter=&utm_source=1')).status).toBeLessThan(300);
    }
    const message = `This route has no query parameter 'utm_source'; ${supported(route)}`;
    expect(await refusedWith(route, 'utm_source=1')).toEqual([400, 'ERR_TAS_400', message]);
    expect((await callWith(route, 'filter=')).status).toBe(200);
  });

  it.each(ROUTES)('%s refuses an unknown parameter in strict mode, unless it is for gateways', async (route) => {
    if (isForGateways(route)) return expect((await callWith(route, 'utm_source=1', strict.gateway)).status).toBe(200);
    const client = new ApiClient(strict.app.url, admin.client.token);
    const message = `This route has no query parameter 'utm_source'; ${supported(route)}`;
    expect(await refusedWith(route, 'utm_source=1', client)).toEqual([400, 'ERR_TAS_400', message]);
  });
});

describe('what reads like a filter', () => {
  it.each(['q', 'order', 'label', 'key_type', 'sinse', 'since', 'ownerid', 'limits'])(
    'is refused by a list that does not have it, and its filters are named: %s',
    async (name) => {
      const message = `This list has no filter '${name}'; its filters are credential_id, owner_id.`;
      expect(refusal(await admin.client.get(`/tunnel_sessions?${name}=x`))).toEqual([400, 'ERR_TAS_400', message]);
      expect((await admin.client.get(`/edges/tcp?${name}=x`)).body.msg).toContain('it has no filters');
    },
  );

  it('is each parameter of any list', () => {
    const ofLists = ROUTES.filter((route) => route.startsWith('GET ')).flatMap((route) => {
      const names = documentedFor(route);
      return names.includes('limit') ? names : [];
    });
    expect([...PARAMETERS_OF_LISTS].sort()).toEqual([...new Set([...ofLists, 'host'])].sort());
  });
});

describe('a field of the items of a list', () => {
  it.each([
    [
      '/ssh_credentials?description=x',
      'description',
      'its filters are fingerprint, owner_id, expiring_before, online, last_seen_before, text, permits',
    ],
    ['/edges/tcp?hostports=a.example:1', 'hostports', 'it has no filters'],
    ['/service_users?description=x', 'description', 'it has no filters'],
    ['/api_keys?id=x', 'id', 'it has no filters'],
    ['/ip_policy_rules?cidr=10.0.0.0/8', 'cidr', 'its filters are ip_policy_id'],
  ])('is no filter, and its sender is told: %s', async (path, name, filters) => {
    const message = `This list has no filter '${name}'; ${filters}.`;
    expect(refusal(await admin.client.get(path))).toEqual([400, 'ERR_TAS_400', message]);
  });

  it('is refused nowhere else: of one resource the same is ignored', async () => {
    const { body } = await admin.client.post('/ip_policies', {});
    expect((await admin.client.get(`/ip_policies/${body.id}?description=x`)).status).toBe(200);
    expect((await admin.client.get('/ssh_credentials?owner_id=usr_x')).body.ssh_credentials).toEqual([]);
  });
});

describe('a query that is refused', () => {
  it('counts both spellings of before_id as one parameter', async () => {
    const id = 'sshcr_3MPflUxi65UVJUZK1y0iEJKUOhV';
    const answer = await admin.client.get(`/ssh_credentials?before_id=${id}&beforeId=${id}`);
    expect(refusal(answer)).toEqual([400, 'ERR_TAS_400', 'before_id is given 2 times; give it once.']);
  });

  it('does not echo a name that may be a secret', async () => {
    const answer = await admin.client.get('/events?OPENSSHPRIVATEKEY0123=1');
    expect(answer.body.msg).toContain('no query parameter (21 characters, not shown);');
  });

  it('changes nothing', async () => {
    const { status } = await admin.client.post('/bot_users?as_of=1', { name: 'never made' });
    const { body } = await admin.client.get('/bot_users');
    expect([status, JSON.stringify(body).includes('never made')]).toEqual([400, false]);
  });

  it('is refused to a caller only: without a key the answer is 401', async () => {
    expect((await fetch(`${service.app.url}/events?sinse=1`)).status).toBe(401);
  });
});

describe('a public route', () => {
  it.each(['/livez', '/readyz', '/openapi.json', '/docs'])(
    '%s takes any parameter, also in strict mode',
    async (path) => {
      for (const url of [service.app.url, strict.app.url]) {
        expect((await fetch(`${url}${path}?filter=x&as_of=&n=1&n=2`)).status).toBe(200);
      }
    },
  );
});
