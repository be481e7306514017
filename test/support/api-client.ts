import { expectDescribed } from './described.js';
import { exchange } from './http-exchange.js';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON body, or the text of any other body; undefined without a body. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly body: any;
}

/** Calls the service with one API key. Every answer must fit openapi.json. */
export class ApiClient {
  constructor(
    readonly url: string,
    readonly token: string | undefined,
  ) {}

  /** The same service, called with another key. */
  as = (token: string): ApiClient => new ApiClient(this.url, token);

  get = (path: string, headers: Record<string, string> = {}) => this.send('GET', path, undefined, headers);
  post = (path: string, body: unknown, headers: Record<string, string> = {}) => this.json('POST', path, body, headers);
  patch = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    this.json('PATCH', path, body, headers);
  put = (path: string, body: unknown, headers: Record<string, string> = {}) => this.json('PUT', path, body, headers);
  delete = (path: string, headers: Record<string, string> = {}) => this.send('DELETE', path, undefined, headers);

  /** Sends a POST. Returns what it has created. */
  async create(path: string, body: unknown): Promise<Answer['body']> {
    const answer = await this.post(path, body);
    if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** The ids on all pages of a list. It follows `next_page_uri`. */
  async pages(path: string, plural: string): Promise<string[][]> {
    const pages: string[][] = [];
    for (let next: string | null = path; next !== null; ) {
      const { body }: Answer = await this.get(next);
      pages.push(body[plural].map((item: { id: string }) => item.id));
      next = body.next_page_uri;
    }
    return pages;
  }

  json(method: string, path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.send(method, path, JSON.stringify(body), { 'content-type': 'application/json', ...headers });
  }

  async send(
    method: string,
    path: string,
    body: string | Buffer | undefined,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const url = path.startsWith('http') ? path : this.url + path;
    const authorization = this.token === undefined ? undefined : { authorization: `Bearer ${this.token}` };
    const { status, headers: answered, text } = await exchange(url, method, { ...authorization, ...headers }, body);
    const isText = !/\bjson\b/.test(answered.get('content-type') ?? '');
    const answer = { status, headers: answered, body: text === '' ? undefined : isText ? text : JSON.parse(text) };
    expectDescribed({ method, url, sent: body, ...answer });
    return answer;
  }
}
