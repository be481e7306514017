import { readFileSync, writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { PROBLEMS, type ProblemName } from '../src/kernel/problem.js';
import { ACCEPT, expectDescribed } from './support/described.js';
import { newPublicKey } from './support/keys.js';
import { openApiText } from './support/openapi/document.js';
import { OPENAPI_FILE, validatorOf } from './support/outside/openapi-schemas.mjs';
import { GATEWAY, type Service, startCopy, startService } from './support/service.js';

/** The parts of the document that this file reads. The validator checks that it has this form. */
interface Media {
  readonly schema?: object;
  readonly example?: unknown;
  readonly examples?: Record<string, { readonly $ref: string }>;
}
type Parameter = { readonly description: string } | { readonly $ref: string };
interface Response {
  readonly content?: Record<string, Media>;
  readonly 'x-problems'?: readonly ProblemName[];
}
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly security?: readonly object[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Record<string, Media> };
  readonly responses: Record<string, Response>;
}
interface Document {
  readonly info: { readonly version: string };
  readonly servers: unknown;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: {
    readonly schemas: Record<
      string,
      { readonly properties: Record<string, object>; readonly additionalProperties?: unknown }
    >;
    readonly parameters: Record<string, Parameter>;
    readonly responses: Record<string, Response>;
    readonly examples: Record<string, { readonly value: { readonly error_code: string } }>;
  };
}

let service: Service;
let made: string;
let served: string;
let document: Document;

beforeAll(async () => {
  service = await startService(GATEWAY);
  made = openApiText(service.app.nest);
  if (process.env.ACCEPT_OPENAPI === 'true') writeFileSync(OPENAPI_FILE, made);
  served = await (await fetch(`${service.app.url}/openapi.json`)).text();
  document = JSON.parse(served);
});
afterAll(() => service.stop());

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );

const pointer = (...parts: string[]): string =>
  parts.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');

describe('openapi.json', () => {
  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(JSON.parse(served));
    expect({ valid, errors, version: validator.version }).toEqual({ valid: true, errors: undefined, version: '3.1' });
  });

  it(`is committed as the code makes it; look at the difference, and accept it with \`${ACCEPT}\``, () => {
    expect(made.split('\n')).toEqual(readFileSync(OPENAPI_FILE, 'utf8').split('\n'));
  });

  it('is served as it is committed', () => {
    expect(document).toEqual(JSON.parse(readFileSync(OPENAPI_FILE, 'utf8')));
  });

  it('has exactly the routes that the service serves', () => {
    const routes = service.app.routes.filter(({ method }) => method !== 'HEAD');
    const asDocumented = routes.map(
      ({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}').replace('*', '{path}')}`,
    );
    expect(operations().map(({ method, path }) => `${method} ${path}`)).toEqual(expect.arrayContaining(asDocumented));
    expect(operations()).toHaveLength(asDocumented.length);
  });

  it.each([
    ['open routes that they need no key', 'isPublic', {}],
    ['routes for gateways that they need a token of these', 'isForGateways', { gateway: [] }],
  ] as const)('says of exactly the %s', (_, claim, requirement) => {
    const described = operations().filter(({ operation }) => isDeepStrictEqual(operation.security, [requirement]));
    const served = service.app.routes.filter((route) => route[claim] && route.method !== 'HEAD');
    expect(described.map(({ path }) => path).sort()).toEqual(
      served.map(({ path }) => path.replace(/:(\w+)/g, '{$1}')).sort(),
    );
  });

  it('describes each operation, parameter and field', () => {
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { operation } of operations()) {
      expect(operation.operationId).toMatch(/^[a-z][A-Za-z]+$/);
      expect(operation.summary).toMatch(/^[A-Z].+[^.]$/);
      expect(operation.tags).toHaveLength(1);
    }
    const parameters = [
      ...operations().flatMap(({ operation }) => operation.parameters.filter((one) => !('$ref' in one))),
      ...Object.values(document.components.parameters),
    ];
    expect(parameters.length).toBeGreaterThan(40);
    const fields = Object.values(document.components.schemas).flatMap((schema) => Object.values(schema.properties));
    expect(fields.length).toBeGreaterThan(100);
    expect([...parameters, ...fields].filter((one) => !('description' in one))).toEqual([]);
  });

  it('names problems of its own for an operation only where they are some of those of the status', () => {
    const named = operations().flatMap(({ operation }) => Object.entries(operation.responses));
    const shared = Object.entries(document.components.responses).filter(([name]) => /^[45]/.test(name));
    const some = [...named, ...shared].filter(([, response]) => response['x-problems'] !== undefined);
    expect(some.length).toBeGreaterThan(30);
    for (const [name, { 'x-problems': problems = [] }] of some) {
      const [status = ''] = name.split('.');
      const all = Object.keys(document.components.responses[status]?.content?.['application/json']?.examples ?? {});
      expect(all).toEqual(expect.arrayContaining([...problems]));
    }
  });

  it('has at most 350 kB', () => {
    expect(readFileSync(OPENAPI_FILE).length).toBeLessThanOrEqual(350_000);
  });

  it('closes bodies, and leaves answers open to fields of a later version', () => {
    const isClosed = (name: string) => document.components.schemas[name]?.additionalProperties === false;
    const all = Object.keys(document.components.schemas);
    expect(all.filter((name) => name.endsWith('Body') && !isClosed(name))).toEqual([]);
    expect(['SshCredential', 'TcpEdge', 'SshCredentialList', 'Error'].filter(isClosed)).toEqual([]);
  });

  it('has every error code of the service, each with an example', () => {
    const examples = Object.values(document.components.responses)
      .map((response) => response.content?.['application/json'])
      .flatMap((one) => Object.values(one?.examples ?? {}))
      .map(({ $ref }) => document.components.examples[$ref.replace('#/components/examples/', '')]?.value.error_code);
    expect([...new Set(examples)].sort()).toEqual([...new Set(Object.values(PROBLEMS).map(([, code]) => code))].sort());
  });

  it('has the version of the package, and the servers of PUBLIC_URL', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
    expect(document).toMatchObject({ info: { version }, servers: [{ url: '/' }] });
    const publicUrl = 'https://api.example.test/tunnels';
    const behindProxy = await startCopy(service, { ...GATEWAY, publicUrl });
    const { body } = await behindProxy.admin.get('/openapi.json');
    expect(body).toEqual({ ...document, servers: [{ url: publicUrl }] });
    const page = await (await fetch(`${behindProxy.app.url}/docs`)).text();
    expect(page).toContain('src="/tunnels/docs/swagger-ui-bundle.js"');
    expect(page).toContain('data-document="/tunnels/openapi.json"');
    await behindProxy.stop();
  });
});

describe('the examples of openapi.json', () => {
  it('fit their schemas', () => {
    const ajv = validatorOf(document);
    const expectFit = (location: string, value: unknown) => {
      const validate = ajv.compile({ $ref: `openapi.json#/${location}` });
      expect({ location, value, errors: validate(value) ? null : validate.errors }).toEqual({
        location,
        value,
        errors: null,
      });
    };
    for (const { path, method, operation } of operations()) {
      const at = ['paths', path, method.toLowerCase()];
      const sent = operation.requestBody?.content['application/json'];
      if (sent !== undefined) {
        expectFit(pointer(...at, 'requestBody', 'content', 'application/json', 'schema'), sent.example);
      }
    }
    for (const [name, response] of Object.entries(document.components.responses)) {
      const json = response.content?.['application/json'];
      const location = pointer('components', 'responses', name, 'content', 'application/json', 'schema');
      for (const problem of Object.keys(json?.examples ?? {}))
        expectFit(location, document.components.examples[problem]?.value);
    }
  });

  it('work if they are sent unchanged', async () => {
    const made = new Map<string, string>();
    let token = '';
    const withBodies = operations().filter(({ operation }) => operation.requestBody !== undefined);
    for (const { path, method, operation } of withBodies) {
      const [collection = ''] = path.split('/{id}');
      const given = operation.requestBody?.content['application/json']?.example;
      const changed = {
        // A rule belongs to a policy that exists.
        ...(path === '/ip_policy_rules' && { ip_policy_id: made.get('/ip_policies') }),
        // A service user is a bot, and the names of bots are unique.
        ...(path.startsWith('/service_users') && { name: 'another' }),
      };
      const example = Array.isArray(given) ? given : { ...Object(given), ...changed };
      const at = path.replace('{id}', made.get(collection) ?? '');
      const isForGateways = path.startsWith('/ssh_gateway/');
      const isQuestion = isForGateways || path.endsWith('/check');
      const caller = path === '/enroll' ? service.admin.as(token) : service.admin;
      const answer = await (isForGateways ? service.gateway : caller).json(method, at, example);
      if (path === '/enrollment_keys') token = answer.body.token;
      const isUnknownKey = path === '/ssh_gateway/identify';
      const status = method === 'POST' && !isQuestion ? 201 : isUnknownKey ? 404 : 200;
      expect({ path, method, ...answer }).toMatchObject({ status });
      if (isQuestion) continue;
      if (method === 'POST') made.set(path, answer.body.id);
      // The answer holds the sent fields, or for a module its parts.
      else if (method === 'PATCH') expect(answer.body).toMatchObject(withoutModules(example));
    }
    expect(made.size).toBeGreaterThanOrEqual(9);
    expect(withBodies.length).toBeGreaterThanOrEqual(32);
  });
});

const withoutModules = (example: unknown) =>
  Object.fromEntries(
    Object.entries(example as object).filter(([name]) => !/backend|ip_restriction|traffic_policy/.test(name)),
  );

describe('every answer that a test gets is validated against openapi.json', () => {
  const answered = async () => {
    const url = `${service.app.url}/ssh_credentials`;
    const answer = await service.admin.post('/ssh_credentials', { public_key: newPublicKey() });
    return { method: 'POST', url, ...answer };
  };

  it('and accepted if it is as documented', async () => {
    const exchange = await answered();
    expect(() => expectDescribed(exchange)).not.toThrow();
  });

  it('and refused if it is not', async () => {
    const { body, ...exchange } = await answered();
    const refusal = (other: object) => expect(() => expectDescribed({ ...exchange, body, ...other }));
    const { acl: _, ...withoutAcl } = body;
    refusal({ body: withoutAcl }).toThrow(/required property 'acl'.*npm run openapi/s);
    refusal({ body: { ...body, secret: 'x' } }).toThrow(/additional properties/);
    refusal({ body: { ...body, owner_id: null } }).toThrow(/owner_id must be string/);
    refusal({ status: 202 }).toThrow(/may not answer 202/);
    refusal({ status: 404 }).toThrow(/may not answer 404/);
    refusal({ headers: new Headers() }).toThrow(/promises the header/);
    refusal({ sent: '{"public_key":"x","undocumented":1}' }).toThrow(/accepted a request that does not fit/);
    refusal({ url: `${service.app.url}/nowhere` }).toThrow(/must be 404/);
    const { body: error } = await service.admin.get('/nowhere');
    refusal({ status: 400, body: error }).toThrow(/may not answer ERR_TAS_404, only ERR_NGROK_600/);
  });
});

describe('/docs', () => {
  it('is a page without resources of other hosts', async () => {
    const response = await fetch(`${service.app.url}/docs`);
    const page = await response.text();
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page).not.toMatch(/(?:https?:)?\/\/[a-z]/i);
    const assets = [...page.matchAll(/(?:src|href|data-document)="(\/[^"]+)"/g)].map((match) => match[1] ?? '');
    expect(assets).toHaveLength(5);
    for (const asset of assets) {
      const { status, headers } = await fetch(service.app.url + asset);
      expect({ asset, status }).toEqual({ asset, status: 200 });
      expect(headers.get('content-type')).toMatch(/css|javascript|json/);
    }
  });

  it('runs only scripts of this service, which may call only this service', async () => {
    const { headers } = await fetch(`${service.app.url}/docs`);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/default-src 'none'; script-src 'self';/);
    expect(policy).toMatch(/connect-src 'self';.*frame-ancestors 'none'/);
  });

  it('serves no other files', async () => {
    for (const name of ['nope.js', '..%2fpackage.json', 'index.html', '__proto__']) {
      expect((await service.admin.get(`/docs/${name}`)).status).toBe(404);
    }
  });
});
