import { DOCUMENT, mismatch } from './outside/openapi-schemas.mjs';

/**
 * Validates every answer that a test gets against the committed openapi.json, so that neither can change alone: the
 * route must document the status, the body must fit its schema, and the answer must have the documented headers.
 */
export interface Exchange {
  readonly method: string;
  readonly url: string;
  readonly sent?: string | Buffer | undefined;
  readonly status: number;
  readonly headers: Headers;
  /** The parsed body of the answer; undefined without a body. */
  readonly body: unknown;
}

export const ACCEPT = 'npm run openapi';

interface Described {
  readonly headers?: Record<string, { readonly $ref?: string; readonly required?: boolean }>;
  readonly content?: Record<string, { readonly schema?: object }>;
  readonly 'x-problems'?: readonly string[];
}
interface Operation {
  readonly requestBody?: unknown;
  readonly responses: Record<string, Described & { readonly $ref?: string }>;
}

class Description {
  private readonly paths = Object.keys(DOCUMENT.paths)
    .sort((a, b) => Number(a.includes('{')) - Number(b.includes('{')))
    .map((path) => ({
      path,
      pattern: new RegExp(
        `^${path
          .replaceAll('.', '\\.')
          .replace('{path}', '.+')
          .replace(/\{\w+\}/g, '[^/]+')}$`,
      ),
    }));

  /** The fault of the exchange; undefined if it has none. */
  fault(exchange: Exchange): string | undefined {
    const pathname = new URL(exchange.url).pathname.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '');
    const path = this.paths.find(({ pattern }) => pattern.test(pathname))?.path;
    const method = exchange.method === 'HEAD' ? 'get' : exchange.method.toLowerCase();
    const operation: Operation | undefined = path === undefined ? undefined : DOCUMENT.paths[path][method];
    if (path === undefined || operation === undefined) return this.faultUnrouted(exchange);
    return this.faultOf(exchange, operation, ['paths', path, method]);
  }

  /** Checks an answer for a path without a route: a client error, or the answer to OPTIONS. */
  private faultUnrouted({ method, status, body }: Exchange): string | undefined {
    if (method === 'OPTIONS' && status === 204) return undefined;
    if (![400, 404].includes(status)) return 'is not in the document, so it must be 404';
    return method === 'HEAD' ? undefined : mismatch(['components', 'schemas', 'Error'], body);
  }

  private faultOf(exchange: Exchange, operation: Operation, at: readonly string[]): string | undefined {
    const { status } = exchange;
    const named = operation.responses[status];
    if (named === undefined) return `may not answer ${status}`;
    const shared = named.$ref?.split('/').slice(1);
    const response: Described = shared === undefined ? named : DOCUMENT.components.responses[shared.at(-1) ?? ''];
    const location = shared ?? [...at, 'responses', String(status)];
    return (
      faultOfProblem(exchange.body, named['x-problems'] ?? response['x-problems']) ??
      this.faultOfHeaders(exchange.headers, response) ??
      this.faultOfBody(exchange, response, location) ??
      this.faultOfRequest(exchange, operation, at)
    );
  }

  private faultOfHeaders(headers: Headers, response: Described): string | undefined {
    for (const [name, own] of Object.entries(response.headers ?? {})) {
      const value = headers.get(name);
      const header = own.$ref === undefined ? own : DOCUMENT.components.headers[name];
      if (value === null && header.required !== true) continue;
      if (value === null) return `promises the header ${name}`;
      const fault = mismatch(['components', 'headers', name, 'schema'], value);
      if (fault !== undefined) return `promises another ${name}: ${fault}`;
    }
    return undefined;
  }

  private faultOfBody(
    { method, body }: Exchange,
    response: Described,
    location: readonly string[],
  ): string | undefined {
    if (response.content === undefined) return body === undefined ? undefined : 'promises no body';
    const json = response.content['application/json'];
    if (json?.schema === undefined || method === 'HEAD') return undefined;
    return mismatch([...location, 'content', 'application/json', 'schema'], body);
  }

  /** An accepted request must fit the document. A field with null counts as absent. */
  private faultOfRequest({ sent, status }: Exchange, operation: Operation, at: readonly string[]): string | undefined {
    if (operation.requestBody === undefined || sent === undefined || status >= 300) return undefined;
    const location = [...at, 'requestBody', 'content', 'application/json', 'schema'];
    const fault = mismatch(location, JSON.parse(String(sent), withoutNulls));
    return fault === undefined ? undefined : `accepted a request that does not fit: ${fault}`;
  }
}

/** The route names its problems with this status, unless they are all that the status has. */
function faultOfProblem(body: unknown, problems: readonly string[] | undefined): string | undefined {
  if (problems === undefined || body === undefined) return undefined;
  const { error_code: code } = body as { readonly error_code: string };
  const codes = problems.map((name) => DOCUMENT.components.examples[name].value.error_code);
  return codes.includes(code) ? undefined : `may not answer ${code}, only ${codes.join(', ')}`;
}

const withoutNulls = (_name: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== null))
    : value;

let description: Description | undefined;

/** Throws if the answer does not fit openapi.json. */
export function expectDescribed(exchange: Exchange): void {
  description ??= new Description();
  const fault = description.fault(exchange);
  if (fault === undefined) return;
  const { method, url, status, body } = exchange;
  throw new Error(
    `openapi.json: ${method} ${new URL(url).pathname} ${fault}.\nIt answered ${status}: ${JSON.stringify(body)}\n` +
      `Is the service right? Then document it beside the route or the field, and run \`${ACCEPT}\`.`,
  );
}
