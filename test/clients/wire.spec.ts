import { type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { buffer, text as textOf } from 'node:stream/consumers';
import { gunzipSync, inflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newPublicKey } from '../support/keys.js';
import { ADMIN_KEY, type Service, startService } from '../support/service.js';
import {
  type Exchange,
  RECORDED_CLIENTS,
  type RecordedClient,
  TERRAFORM,
  TERRAFORM_RESERVED,
} from './recorded-wire.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ addressPools: [POOL] });
});
afterAll(() => service.stop());

const POOL = { host: '1.tcp.example.com', from: 20_000, to: 20_099, region: '' };

type Values = Record<string, string>;

/** Replaces each `{{name}}` with its value in this run. */
const fill = (text: string, values: Values): string =>
  text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`there is no value named ${name}`);
    return value;
  });
const fillAll = <Template>(template: Template, values: Values): Template =>
  JSON.parse(fill(JSON.stringify(template), values));

const newValues = (): Values => ({ token: ADMIN_KEY, key: newPublicKey() });

interface WireAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly body: any;
}

/** Sends exactly the client's headers, unlike `fetch`. */
async function send(
  client: RecordedClient,
  { method, path, body }: { method: string; path: string; body?: string | undefined },
  values: Values,
): Promise<WireAnswer> {
  const bytes = Buffer.from(body === undefined ? '' : fill(body, values));
  const headers = {
    ...fillAll(client.headers, values),
    ...(body !== undefined && client.bodyHeaders),
    ...((body !== undefined || method === 'DELETE') && { 'content-length': String(bytes.length) }),
  };
  // Not `new URL(path, base)`, which reads two leading slashes as a host.
  const { origin } = new URL(service.app.url);
  const url = path.startsWith('http') ? path : origin + fill(path, values);
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, async (answer) => {
      const text = plain(client, answer.headers['content-encoding'], await buffer(answer));
      const parsed = text === '' ? undefined : JSON.parse(text);
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text, body: parsed });
    });
    sent.on('error', reject).end(bytes);
  });
}

/** A client decodes only the encodings that it offered. */
function plain({ headers }: RecordedClient, encoding: string | undefined, bytes: Buffer): string {
  if (encoding === undefined || encoding === 'identity') return bytes.toString();
  expect(headers['accept-encoding']).toContain(encoding);
  return (encoding === 'gzip' ? gunzipSync(bytes) : inflateSync(bytes)).toString();
}

async function replay(client: RecordedClient, exchange: Exchange, values: Values): Promise<void> {
  const { status, body, text } = await send(client, exchange, values);
  const what = `${exchange.method} ${exchange.path}`;
  expect({ what, status, ...(status !== exchange.status && { body }) }).toEqual({ what, status: exchange.status });
  if (exchange.status === 204) expect(text).toBe('');
  exchange.answer?.(body, what);
  if (exchange.holds !== undefined) expect(body).toMatchObject(fillAll(exchange.holds, values));
  if (exchange.keeps !== undefined) values[exchange.keeps] = body.id;
}

/** The ids of every page, in the client's way of paging. An endless walk is cut, and the count shows it. */
async function walk(client: RecordedClient, values: Values): Promise<string[][]> {
  const { firstPage, page, next } = client.list;
  const pages: string[][] = [];
  for (let path: string | undefined = firstPage; path !== undefined && pages.length < 20; ) {
    const { status, body }: WireAnswer = await send(client, { method: 'GET', path }, values);
    expect(status).toBe(200);
    page(body, `page ${pages.length}`);
    const ids = body.ssh_credentials.map(({ id }: { id: string }) => id);
    pages.push(ids);
    path = NEXT[next](body.next_page_uri, ids);
  }
  return pages;
}

type Next = (nextPageUri: string | null, ids: readonly string[]) => string | undefined;

const NEXT: Record<RecordedClient['list']['next'], Next> = {
  'follows next_page_uri': (nextPageUri) => nextPageUri ?? undefined,
  'cuts the base URL off': (nextPageUri) => {
    if (nextPageUri === null) return undefined;
    expect(nextPageUri.startsWith(`${service.app.url}/`)).toBe(true);
    return nextPageUri.slice(service.app.url.length);
  },
  'asks before the last id until a page is empty': (_, ids) =>
    ids.length === 0 ? undefined : `/ssh_credentials?before_id=${ids.at(-1)}&limit=2`,
};

describe.each(RECORDED_CLIENTS.map((client) => ({ client, name: client.name })))('$name', ({ client }) => {
  if (client.exchanges.length > 0) {
    it('makes every recorded call, and finds in the answers what its decoder needs', async () => {
      const values = newValues();
      for (const exchange of client.exchanges) await replay(client, exchange, values);
    });
  }

  it(`lists every item once: it ${client.list.next}`, async () => {
    const made: string[] = [];
    for (let i = 0; i < 5; i += 1) {
      made.unshift((await service.admin.post('/ssh_credentials', { public_key: newPublicKey() })).body.id);
    }
    const pages = await walk(client, newValues());
    const all = (await service.admin.pages('/ssh_credentials', 'ssh_credentials')).flat();
    expect(pages.flat()).toEqual(all);
    expect(all.slice(0, 5)).toEqual(made);
    expect(pages.length).toBeGreaterThan(2);
  });

  it('decodes errors, whose body has the status and the operation', async () => {
    const values = newValues();
    const create = { method: 'POST', path: '/ssh_credentials' };
    for (const [status, code, exchange, token] of [
      [404, 'ERR_TAS_404', { method: 'GET', path: '/ssh_credentials/sshcr_nope' }],
      [404, 'ERR_NGROK_7000', { method: 'DELETE', path: '/edges/tcp/edgtcp_nope' }],
      [400, 'ERR_NGROK_612', { ...create, body: '{"public_key":"no key"}' }],
      [400, 'ERR_NGROK_214', { ...create, body: '{"owner_email":"x"}' }],
      [400, 'ERR_NGROK_223', { method: 'GET', path: '/ssh_credentials?before_id=nope' }],
      [401, 'ERR_NGROK_203', { method: 'GET', path: '/ssh_credentials' }, 'no-such-key-0123456789'],
    ] as const) {
      const answer = await send(client, exchange, { ...values, ...(token !== undefined && { token }) });
      expect([answer.status, answer.body.error_code]).toEqual([status, code]);
      client.error(answer.body, `error ${status}`);
      expect(answer.body.status_code).toBe(status);
      expect(answer.body.details.operation_id).toBe(answer.headers['ngrok-operation-id']);
    }
  });
});

/** Armeria, under the Java client, asks a plaintext server for HTTP/2 first, in one of two ways by version. */
describe('Java, before its first request', () => {
  const sendRaw = async (bytes: string): Promise<string> => {
    const { hostname, port } = new URL(service.app.url);
    const socket = connect(Number(port), hostname);
    socket.write(bytes);
    return textOf(socket);
  };

  it('opens with the HTTP/2 preface: the service answers in HTTP/1.1 and closes the connection, so the client falls back', async () => {
    expect(await sendRaw('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('or asks for an upgrade with HEAD /: the service answers without an upgrade', async () => {
    const { host } = new URL(service.app.url);
    const answer = await sendRaw(
      `HEAD / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 302 /);
  });
});

describe('Terraform', () => {
  const { client } = TERRAFORM;
  const path = '/ssh_credentials/{{credential}}';
  const apply = (values: Values) =>
    replayed(values, { method: 'POST', path: '/ssh_credentials', body: TERRAFORM.create }, 201);
  const read = (values: Values) => replayed(values, { method: 'GET', path }, 200);

  async function replayed(
    values: Values,
    exchange: { method: string; path: string; body?: string },
    status: number,
  ): Promise<WireAnswer['body']> {
    const answer = await send(client, exchange, values);
    expect(answer).toMatchObject({ status });
    return answer.body;
  }

  it('finds public_key and acl byte for byte in create, read and import, so that a plan is empty', async () => {
    const values = newValues();
    const configured = { ...TERRAFORM.configured, public_key: `${values.key}\n` };
    const created = await apply(values);
    expect(created).toMatchObject(configured);
    values.credential = created.id;
    expect(await read(values)).toEqual(created);
    // An import knows only the id, and uses the same read.
    expect(await read({ token: ADMIN_KEY, credential: created.id })).toEqual(created);
  });

  it('updates every field that can change, and finds the computed fields unchanged', async () => {
    const values = newValues();
    const created = await apply(values);
    values.credential = created.id;
    const updated = await replayed(values, { method: 'PATCH', path, body: TERRAFORM.update }, 200);
    expect(updated).toEqual({ ...created, ...TERRAFORM.reconfigured });
    expect(await read(values)).toEqual(updated);
  });

  it('drops a deleted resource from its state, deletes it twice without an error, and creates it again', async () => {
    const values = newValues();
    const first = await apply(values);
    values.credential = first.id;
    await replayed(values, { method: 'DELETE', path }, 204);
    const gone = await replayed(values, { method: 'GET', path }, 404);
    // `IsNotFound` looks into the body.
    expect(gone.status_code).toBe(404);
    const again = await replayed(values, { method: 'DELETE', path }, 404);
    expect(again.status_code).toBe(404);
    const second = await apply(values);
    expect(second).toMatchObject({ public_key: first.public_key, acl: first.acl });
    expect(second.id).not.toBe(first.id);
  });

  it('gets the token of an API key only from its creation, and keeps it after a read without a token', async () => {
    const values = newValues();
    const made = await replayed(values, { method: 'POST', path: '/api_keys', body: TERRAFORM.createApiKey }, 201);
    expect(made.token).toEqual(expect.any(String));
    const { token, ...rest } = await replayed(values, { method: 'GET', path: `/api_keys/${made.id}` }, 200);
    expect(token).toBeNull();
    expect(made).toMatchObject(rest);
  });

  describe('with reserved addresses and domains', () => {
    const { addr, domain } = TERRAFORM_RESERVED;
    const create = (body: string, resource: string) => (values: Values) =>
      replayed(values, { method: 'POST', path: `/${resource}`, body }, 201);
    const one = (resource: string) => `/${resource}/{{made}}`;

    it.each([
      ['reserved_addrs', addr, { description: 'camera' }],
      ['reserved_domains', domain, domain.configured],
    ])(
      '%s: finds what is configured as it was written, and the computed fields unchanged',
      async (resource, sent, configured) => {
        const values = newValues();
        const created = await create(sent.create, resource)(values);
        expect(created).toMatchObject(configured);
        values.made = created.id;
        expect(await replayed(values, { method: 'GET', path: one(resource) }, 200)).toEqual(created);
        const updated = await replayed(values, { method: 'PATCH', path: one(resource), body: sent.update }, 200);
        expect(updated).toEqual({ ...created, ...sent.updated });
        await replayed(values, { method: 'DELETE', path: one(resource) }, 204);
        const gone = await replayed(values, { method: 'GET', path: one(resource) }, 404);
        expect(gone.status_code).toBe(404);
      },
    );

    it('replaces a domain at once: its deletion comes before its creation', async () => {
      const values = newValues();
      for (let round = 0; round < 2; round += 1) {
        values.made = (await create(domain.create, 'reserved_domains')(values)).id;
        await replayed(values, { method: 'DELETE', path: one('reserved_domains') }, 204);
      }
    });

    it('before 1.0 finds its own default region again, and may change that of a domain', async () => {
      const values = newValues();
      expect(await create(addr.createBefore1, 'reserved_addrs')(values)).toMatchObject({ region: 'us' });
      const created = await create(domain.createBefore1, 'reserved_domains')(values);
      values.made = created.id;
      const update = { method: 'PATCH', path: one('reserved_domains'), body: domain.updateBefore1 };
      const updated = await replayed(values, update, 200);
      expect(updated).toEqual({ ...created, description: 'd', region: 'eu' });
    });
  });
});
