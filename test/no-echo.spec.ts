import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient } from './support/api-client.js';
import { rowsOf } from './support/backups.js';
import { exchange } from './support/http-exchange.js';
import { newPublicKey } from './support/keys.js';
import { DOCUMENT } from './support/outside/openapi-schemas.mjs';
import { logLines, type RunningMain, startMain, stopMain } from './support/process.js';
import { cloneDatabase } from './support/service.js';

/** Answers to a secret in the wrong place. The requests are made from openapi.json, so that a new route is covered. */

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

interface Parameter {
  readonly in: 'query' | 'path' | 'header';
  readonly name: string;
}

interface Operation {
  readonly security?: readonly object[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly example: Json } } };
}

interface Sent {
  /** Where the secret is: the same in every route that has such a field, parameter or header. */
  readonly place?: string;
  readonly method: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

const OPERATIONS = Object.entries(DOCUMENT.paths as Record<string, Record<string, Operation>>).flatMap(
  ([path, methods]) => Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

const privateKey = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const BOOTSTRAP_KEY = randomBytes(24).toString('hex');
const GATEWAY_TOKEN = randomBytes(24).toString('base64url');
const SECRETS: Record<string, string> = {
  'a private key': privateKey(),
  'a line of an OpenSSH private key': `b3BlbnNzaC1rZXktdjEA${randomBytes(37).toString('base64')}`,
  'a JWT': ['{"alg":"RS256"}', '{"sub":"ada"}', randomBytes(64)]
    .map((p) => Buffer.from(p).toString('base64url'))
    .join('.'),
  'the bootstrap key': BOOTSTRAP_KEY,
  'a gateway token': GATEWAY_TOKEN,
};
/** Parts of a secret that are long enough to tell it; PEM's own words are shorter. */
const partsOf = (secret: string): string[] =>
  secret
    .split(/\s+/)
    // The first half of an API key is its id, which is no secret.
    .map((word) => word.replace(/^[0-9A-Za-z]{27}_(?=[\w-]{32}$)/, ''))
    .filter((word) => word.length >= 16)
    .flatMap((word) => [word.slice(0, 16), word.slice(-16)]);

let main: RunningMain;
let url: string;
let database: Awaited<ReturnType<typeof cloneDatabase>>;
const ids = new Map<string, string>();

beforeAll(async () => {
  database = await cloneDatabase();
  main = startMain({
    DATABASE_URL: database.url,
    BOOTSTRAP_API_KEY: BOOTSTRAP_KEY,
    GATEWAY_TOKENS: GATEWAY_TOKEN,
    AUTH_FAILURES_PER_MINUTE: '0',
    LOG_LEVEL: 'debug',
    LOG_REQUESTS: 'all',
  });
  url = await main.url;
  const create = async (path: string, body: object) => {
    const answer = await send({ method: 'POST', path, body: JSON.stringify(body) });
    ids.set(path, JSON.parse(answer.body).id);
    return JSON.parse(answer.body);
  };
  await create('/ssh_credentials', { public_key: newPublicKey() });
  await create('/edges/tcp', { hostports: ['a.example.com:1'] });
  await create('/users', { email: 'first@example.com' });
  await create('/bot_users', { name: 'first' });
  SECRETS['an API key'] = (await create('/api_keys', {})).token;
});
afterAll(async () => {
  await stopMain(main, 'SIGKILL');
  await database.drop();
});

async function send({ method, path, headers = {}, body }: Sent) {
  const isGateway = path.startsWith('/ssh_gateway');
  const authorization = `Bearer ${isGateway ? GATEWAY_TOKEN : BOOTSTRAP_KEY}`;
  const type = body === undefined ? undefined : { 'content-type': 'application/json' };
  const answer = await exchange(url + path, method.toUpperCase(), { authorization, ...type, ...headers }, body);
  return { status: answer.status, headers: JSON.stringify([...answer.headers]), body: answer.text };
}

interface Located {
  readonly place: string;
  readonly body: Json;
}

/** The example with the secret in place of each value, and as a further field of each object, by the path in the example. */
function withSecret(example: Json, secret: string, at = 'body'): Located[] {
  const values: Located[] = [{ place: at, body: secret }];
  if (typeof example === 'string') values.push({ place: `${at}, as a rule`, body: `bind:${secret}` });
  if (example === null || typeof example !== 'object') return values;
  if (!Array.isArray(example)) values.push({ place: `${at}, as a name`, body: { ...example, [secret]: 'x' } });
  const inside = Object.entries(example).flatMap(([name, value]) =>
    withSecret(value, secret, `${at}.${name}`).map(({ place, body }) => ({
      place,
      body: Array.isArray(example) ? example.with(Number(name), body) : { ...example, [name]: body },
    })),
  );
  return [...inside, ...values];
}

/** Each of a group may be refused before the service looks at the next group. */
/** One route of each method tries the headers: what reads them is the same for every route. */
const FIRST_OF_METHODS = ['get', 'post', 'patch', 'put', 'delete'].map(
  (name) => OPERATIONS.find(({ method, path }) => method === name && path.startsWith('/ssh_'))?.operation,
);
const HEADERS = [
  ['idempotency-key', 'last-event-id', 'ngrok-version', 'user-agent', 'origin', 'cookie', 'x-forwarded-for'],
  ['if-match', 'if-none-match', 'accept', 'accept-encoding'],
  ['content-type'],
  ['authorization'],
];

function requestsWith(secret: string, { path, method, operation }: (typeof OPERATIONS)[number]): Sent[] {
  const known = [...ids].find(([prefix]) => path.startsWith(prefix))?.[1] ?? '';
  const real = path.replace('{id}', known).replace('{file}', 'index.html');
  const example = operation.requestBody?.content['application/json'].example;
  const [text, encoded] = [JSON.stringify(example), encodeURIComponent(secret)];
  const oneLine = secret.replace(/\s+/g, ' ').trim();
  const own = example === undefined ? {} : { body: text };
  const queries = (operation.parameters ?? []).filter((p) => p.in === 'query').map(({ name }) => name);
  // The real entity stays, for the requests that follow.
  const harmless = method === 'delete' ? { headers: { 'if-match': '"0"' } } : {};
  const requests: Omit<Sent, 'method'>[] = [
    { place: 'path', path: path.replace(/\{\w+\}/, encoded), ...own },
    ...[...queries, 'unknown', secret].map((name) => ({
      place: `query ${name === secret ? 'as a name' : name}`,
      path: `${real}?${encodeURIComponent(name)}=${encoded}`,
      ...own,
      ...harmless,
    })),
    ...(FIRST_OF_METHODS.includes(operation) ? HEADERS : []).map((names) => ({
      place: `headers ${names}`,
      path: real,
      headers: { ...harmless.headers, ...Object.fromEntries(names.map((name) => [name, oneLine])) },
      ...own,
    })),
    { place: 'key', path: real, headers: { authorization: `Bearer x${secret.replace(/\s/g, '')}` } },
    ...(example === undefined ? [] : [{ place: 'text', path: real, body: secret }]),
    ...(example === undefined
      ? []
      : withSecret(example, secret).map(({ place, body }) => ({ place, path: real, body: JSON.stringify(body) }))),
  ];
  return requests.map((one) => ({ method, ...one }));
}

/**
 * Every place of every route, each with one of the secrets in turn, and every kind of place with this secret too. All
 * secrets in all places of all routes would be six times as many requests, for the same code of the service.
 */
function coveringRequests(secret: string, turn: number, turns: number): Sent[] {
  const places = new Set<string | undefined>();
  const all = OPERATIONS.flatMap((operation) => requestsWith(secret, operation));
  return all.filter(({ place }, n) => {
    const isTaken = n % turns === turn || !places.has(place);
    if (isTaken) places.add(place);
    return isTaken;
  });
}

/** Where the answer has a part of the secret. The body of a success may have what the caller stored. */
async function leakOf(request: Sent, parts: readonly string[]): Promise<string | undefined> {
  const { status, headers, body } = await send(request);
  const links = /"(?:next_page_)?uri":"[^"]*\?[^"]*"/g;
  const told = headers + (status >= 400 ? body : (body.match(links) ?? []).join(''));
  return parts.some((part) => told.includes(part)) ? `${status} ${request.method} ${request.path}: ${told}` : undefined;
}

describe('a secret in any field, query, header or path of any route', () => {
  const names = [...Object.keys(SECRETS), 'an API key'];
  it.each(names)(
    'does not come back in an error, a header or a link: %s',
    async (name) => {
      const secret = SECRETS[name] ?? '';
      const parts = partsOf(secret);
      expect(parts).not.toEqual([]);
      const requests = coveringRequests(secret, names.indexOf(name), names.length);
      expect(requests.length).toBeGreaterThan(OPERATIONS.length * 2);
      const leaks: string[] = [];
      for (let n = 0; n < requests.length; n += 16) {
        const found = await Promise.all(requests.slice(n, n + 16).map((request) => leakOf(request, parts)));
        leaks.push(...found.filter((leak) => leak !== undefined));
      }
      expect(leaks.slice(0, 5)).toEqual([]);
    },
    120_000,
  );

  it('does not reach the log of the service', async () => {
    const { status } = await send({ method: 'GET', path: '/ssh_credentials' });
    expect(status).toBe(200);
    const parts = Object.values(SECRETS).flatMap(partsOf);
    expect(parts.filter((part) => main.output().includes(part))).toEqual([]);
    const requests = logLines(main).filter(({ method }) => method !== undefined);
    expect(requests.length).toBeGreaterThan(OPERATIONS.length * 6);
  });
});

describe('a secret in the place that users mistake for another', () => {
  const problemOf = async (request: Sent) => {
    const { status, body } = await send(request);
    return { status, msg: JSON.parse(body).msg };
  };

  it('a private key as an ACL rule is refused by its index, its length and the reason', async () => {
    const secret = SECRETS['a private key'] ?? '';
    const body = JSON.stringify({ public_key: newPublicKey(), acl: ['*', secret] });
    expect(await problemOf({ method: 'POST', path: '/ssh_credentials', body })).toEqual({
      status: 400,
      msg: `acl[1] (${secret.length} characters, not shown) is not a bind rule: a rule is '*' or begins with 'bind:'.`,
    });
  });

  it.each(['actor', 'stream', 'type', 'after', 'as_of'])('an API key as ?%s= is refused without it', async (name) => {
    const { status, msg } = await problemOf({ method: 'GET', path: `/events?${name}=${SECRETS['an API key']}` });
    expect({ status, msg }).toEqual({
      status: 400,
      msg: expect.stringMatching(`^${name} \\(60 characters, not shown\\)`),
    });
  });
});

describe('a private key pasted by mistake', () => {
  const { privateKey: rsa } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = (type: 'pkcs1' | 'pkcs8'): string => rsa.export({ type, format: 'pem' }).toString();
  const openssh = (): string =>
    `-----BEGIN OPENSSH PRIVATE KEY-----\n${Buffer.concat([Buffer.from('openssh-key-v1\0'), randomBytes(300)]).toString('base64')}\n-----END OPENSSH PRIVATE KEY-----\n`;

  /** As one word, which looks like a comment. */
  const der = rsa.export({ type: 'pkcs8', format: 'der' });
  const words = [
    der.toString('base64'),
    der.toString('base64url'),
    der.toString('hex'),
    Buffer.from(openssh()).toString('base64'),
    Buffer.from(JSON.stringify({ kty: 'OKP', d: randomBytes(32).toString('base64url') })).toString('base64'),
  ];

  /** Pieces of the secret, long enough not to occur by chance and short enough to be found in a quotation. */
  const piecesOf = (text: string): string[] =>
    text
      .split('\n')
      .filter((line) => line.length > 30 && !line.startsWith('-----'))
      .map((line) => line.slice(5, 25));

  it('appears neither in the answer, nor in a log at any level, nor in the database', async () => {
    const client = new ApiClient(url, BOOTSTRAP_KEY);
    const secrets = [pem('pkcs1'), pem('pkcs8'), openssh()];
    let answers = '';
    for (const secret of secrets) {
      for (const public_key of [
        secret,
        `${newPublicKey()} ${secret}`,
        `${newPublicKey()}\n${secret}`,
        secret.replaceAll('\n', '\r\n'),
      ]) {
        const answer = await client.post('/ssh_credentials', { public_key });
        expect(answer).toMatchObject({ status: 400, body: { error_code: 'ERR_NGROK_612' } });
        answers += JSON.stringify(answer.body);
      }
      // The same text in a body that is not JSON, or outside a field.
      for (const body of [`{"public_key": "${secret}`, `"${secret.replaceAll('\n', '\\n')}"`, secret]) {
        const answer = await client.send('POST', '/ssh_credentials', body, { 'content-type': 'application/json' });
        expect(answer.status).toBe(400);
        answers += JSON.stringify(answer.body);
      }
    }
    expect(await client.post('/ssh_credentials', { public_key: secrets[0] })).toMatchObject({
      body: { msg: expect.stringMatching(/private key.*new pair/i) },
    });
    for (const word of words) {
      const base64 = newPublicKey().split(' ')[1];
      const comments = [word, word.replace(/.{9}/g, '$& ')];
      const headers = { 'idempotency-key': randomBytes(8).toString('hex') };
      for (const public_key of [
        ...comments.map((comment) => `${newPublicKey()} ${comment}`),
        `---- BEGIN SSH2 PUBLIC KEY ----\nComment: ${word}\n${base64}\n---- END SSH2 PUBLIC KEY ----\n`,
      ]) {
        const told = [
          await client.post('/ssh_credentials', { public_key }, headers),
          await new ApiClient(url, GATEWAY_TOKEN).post('/ssh_gateway/identify', { public_key }),
        ];
        for (const { status, body } of told) {
          expect([status, body.error_code, body.msg]).toEqual([400, 'ERR_NGROK_612', expect.stringMatching(/leaked/)]);
          answers += JSON.stringify(body);
        }
      }
    }
    const dump = (await rowsOf(database.url)).join('\n');
    expect(dump).toContain('api_key_created.v1');
    for (const piece of [...secrets, ...words].flatMap(piecesOf)) {
      for (const [source, text] of Object.entries({ answers, log: main.output(), dump })) {
        expect([source, text.includes(piece)]).toEqual([source, false]);
      }
    }
  });
});
