import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Answer, ApiClient } from './support/api-client.js';
import { CHECKPOINTS } from './support/route-samples.js';
import { ADMIN_KEY, GATEWAY, GATEWAY_TOKEN, type Service, startService } from './support/service.js';

/** Reads docs/requests.http as its clients do; text that they would not read fails here. */
interface FileRequest {
  readonly title: string;
  readonly name: string | undefined;
  /** From the line "expect": the status, and for an error its code. */
  readonly expected: { readonly status: number; readonly code: string | undefined };
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

type Variables = Record<string, string>;

const FILE = readFileSync(new URL('../docs/requests.http', import.meta.url), 'utf8');

let service: Service;
beforeAll(async () => {
  service = await startService({ ...GATEWAY, ...CHECKPOINTS });
});
afterAll(() => service.stop());

/** The blocks between lines of three hashes: the head of the file, then one request each. */
function parse(file: string): { variables: Variables; requests: FileRequest[] } {
  const [head = '', ...blocks] = file.split(/^###/m);
  const variables = variablesIn([head, ...blocks].join('\n'));
  return { variables, requests: blocks.map(parseRequest) };
}

const variablesIn = (text: string): Variables =>
  Object.fromEntries([...text.matchAll(/^@(\w+) = (.*)$/gm)].map(([, name = '', value = '']) => [name, value]));

function parseRequest(block: string): FileRequest {
  const [title = '', ...lines] = block.split('\n');
  const start = lines.findIndex((line) => !/^([#@]|$)/.test(line));
  const about = lines.slice(0, start).join('\n');
  const [, status, code] = /^# expect: (\d{3})(?: (ERR_\w+))?$/m.exec(about) ?? [];
  const [, method, url] = /^([A-Z]+) (\S+)$/.exec(lines[start] ?? '') ?? [];
  if (status === undefined || method === undefined || url === undefined) {
    throw new Error(`"${title.trim()}" has no line "# expect: <status>", or no line "<METHOD> <url>"`);
  }
  const blank = lines.indexOf('', start);
  const headers = lines.slice(start + 1, blank).map((line) => /^([\w-]+): (.*)$/.exec(line) ?? []);
  const body = lines.slice(blank).join('\n').trim();
  return {
    title: title.trim(),
    name: /^# @name (\w+)$/m.exec(about)?.[1],
    expected: { status: Number(status), code },
    method,
    url,
    headers: Object.fromEntries(headers.map(([, name = '', value = '']) => [name.toLowerCase(), value])),
    body: body === '' ? undefined : body,
  };
}

/** `{{name}}` is a variable, which may hold references; `{{request.response.body.$.id}}` is from an answer. */
function resolve(text: string, variables: Variables, answers: ReadonlyMap<string, Answer>): string {
  return text.replace(/\{\{(.+?)\}\}/g, (_, reference: string) => {
    const variable = variables[reference];
    if (variable !== undefined) return resolve(variable, variables, answers);
    const [request = '', , part, name = '', field = ''] = reference.split('.');
    const answer = answers.get(request);
    const found = part === 'headers' ? answer?.headers.get(name) : answer?.body?.[field];
    if (typeof found !== 'string') throw new Error(`{{${reference}}} is not defined above`);
    return found;
  });
}

/** Sends every request in order; returns each with its answer. */
async function sendAll(overrides: Variables): Promise<{ request: FileRequest; answer: Answer; path: string }[]> {
  const { variables, requests } = parse(FILE);
  const values = { ...variables, ...overrides };
  const answers = new Map<string, Answer>();
  const client = new ApiClient(service.app.url, undefined);
  const sent: { request: FileRequest; answer: Answer; path: string }[] = [];
  for (const request of requests) {
    const fill = (text: string): string => resolve(text, values, answers);
    const headers = Object.entries(request.headers).map(([name, value]) => [name, fill(value)]);
    const url = fill(request.url);
    const body = request.body && fill(request.body);
    const answer = await client.send(request.method, url, body, Object.fromEntries(headers));
    if (request.name !== undefined) answers.set(request.name, answer);
    sent.push({ request, answer, path: new URL(url).pathname });
  }
  return sent;
}

const lineOf = (title: string, status: number, code: string | undefined) => `${title}: ${status} ${code ?? ''}`.trim();

it('every request of docs/requests.http gets the answer that it states, even if the whole file is sent again', async () => {
  for (const run of ['1', '2']) {
    const sent = await sendAll({ base: service.app.url, key: ADMIN_KEY, gatewayToken: GATEWAY_TOKEN, run });
    expect(sent.map(({ request, answer }) => lineOf(request.title, answer.status, answer.body?.error_code))).toEqual(
      sent.map(({ request }) => lineOf(request.title, request.expected.status, request.expected.code)),
    );
    const answerOf = (name: string) => sent.find(({ request }) => request.name === name)?.answer.body;
    expect(answerOf('once')).toEqual(answerOf('again'));
  }
});

it('docs/requests.http has every call of the service', () => {
  const { requests } = parse(FILE);
  const calls = requests.map(({ method, url }) => `${method} ${url.replace(/^\{\{base\}\}|\?.*$/g, '')}`);
  const missing = service.app.routes
    .filter(({ method, isPublic }) => !isPublic && method !== 'HEAD' && method !== 'OPTIONS')
    // The same as /bot_users.
    .filter(({ path }) => !path.startsWith('/service_users'))
    // A stream of changes does not end.
    .filter(({ path }) => !/^.ssh_gateway.*.changes$/.test(path))
    .filter((route) => !calls.some((call) => isCallOf(route, call)))
    .map(({ method, path }) => `${method} ${path}`);
  // A new route: add a request for it to docs/requests.http, with the status that it answers.
  expect(missing).toEqual([]);
});

/** `/edges/tcp/:id/:module` is called by `/edges/tcp/{{edge}}/backend`. */
function isCallOf({ method, path }: { method: string; path: string }, call: string): boolean {
  const pattern = path.replace(/:\w+/g, '[^/]+').replace('*', '.+');
  return new RegExp(`^${method} ${pattern}$`).test(call);
}

it('uses only variables and requests that exist', () => {
  const { variables, requests } = parse(FILE);
  const names = requests.flatMap(({ name }) => name ?? []);
  expect(new Set(names).size).toBe(names.length);
  const references = [...FILE.replace(/^#.*$/gm, '').matchAll(/\{\{(\w+)/g)].map(([, name = '']) => name);
  expect(references.filter((name) => variables[name] === undefined && !names.includes(name))).toEqual([]);
  expect(Object.keys(variables).filter((name) => !references.includes(name))).toEqual([]);
});
