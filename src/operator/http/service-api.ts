import { readFile } from 'node:fs/promises';
import { messageOf } from '../../kernel/error-message.js';
import { parseJsonObject } from '../../kernel/json-object.js';
import { type Answer, HttpClient, type HttpMethod, readAnswer } from '../../kernel/network/http-client.js';
import { isTransientStatus, retryAfterMsOf, Unavailable } from '../../kernel/network/unavailable.js';
import { OperatorError, UsageError } from '../../kernel/operator-error.js';
import { tell } from '../print.js';
import { isConfidential } from './http-url.js';

const MAX_ANSWER_MS = 30_000;
const MAX_QUOTED_CHARACTERS = 200;
const PAGE_SIZE = 100;
const LOST_TAIL = 410;

interface Wanted {
  readonly accept: string;
  /** Whether the beginning of the text is enough. */
  readonly isEnough: (text: string) => boolean;
  readonly signal?: AbortSignal | undefined;
}

interface WantedLines extends Pick<Wanted, 'signal'> {
  /** The answer is cut soon after so many characters. */
  readonly maxCharacters: number;
  /** What to do if the log ends before the position that is asked for. */
  readonly afterLoss: string;
}

/** What a request holds of an earlier state, or of an earlier attempt. */
interface Conditions {
  readonly ifMatch?: string | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** An answer with a status of success. */
interface Taken<Body> {
  readonly body: Body;
  /** The version of the resource, for If-Match. */
  readonly etag: string | undefined;
}

/** The service refuses a request. The message is the sentence of the service. */
export class Refused extends UsageError {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** Calls the service with an API key, which chooses the account. */
export class ServiceApi {
  private readonly http = new HttpClient();

  constructor(
    private readonly url: URL,
    private readonly apiKey: string,
  ) {}

  /**
   * Reads the key from a file, since other users of the machine see arguments. Throws UsageError unless it holds a key.
   */
  static async withKeyIn(file: string, url: URL): Promise<ServiceApi> {
    const text = await readFile(file, 'utf8').catch((error: unknown) => {
      throw new UsageError(`the file of the API key cannot be read: ${messageOf(error)}`);
    });
    return ServiceApi.withKey(text, url, `${file} must hold an API key and nothing else`);
  }

  /** Throws UsageError with this message unless the text is a key. */
  static withKey(text: string, url: URL, message: string): ServiceApi {
    const key = text.trim();
    if (!/^[\x21-\x7e]+$/.test(key)) throw new UsageError(message);
    const api = new ServiceApi(url, key);
    if (!isConfidential(url)) tell(`warning: ${api.name} gets the API key without encryption; use https`);
    return api;
  }

  /** The URL of the service without a query. */
  get name(): string {
    return `${this.url.origin}${this.url.pathname}`.replace(/\/$/, '');
  }

  /**
   * The text of an answer 200, or its beginning. Rejects with OperatorError if the operator must correct the key or the
   * URL, and with Unavailable for any other answer.
   */
  async get(path: string, { accept, isEnough, signal }: Wanted): Promise<Answer> {
    const answer = await this.exchange('GET', path, { accept }, undefined, { isEnough, signal });
    if (answer.status === 200) return answer;
    throw this.refusalOf(answer);
  }

  /**
   * The lines of an answer, or the first of them. Rejects with Unavailable if a later request may succeed, and with
   * OperatorError otherwise.
   */
  async lines(
    path: string,
    { maxCharacters, afterLoss, signal }: WantedLines,
  ): Promise<{ readonly lines: string[]; readonly isWhole: boolean }> {
    const isEnough = (text: string): boolean => text.length >= maxCharacters && text.includes('\n');
    const wanted = { accept: 'application/x-ndjson', isEnough, signal };
    const { text, isWhole } = await this.get(path, wanted).catch((error: unknown) => {
      const status = error instanceof Unavailable ? error.answer?.status : undefined;
      if (!(error instanceof Unavailable) || status === undefined || isTransientStatus(status)) throw error;
      const advice = status === LOST_TAIL ? `. ${afterLoss}` : '; is this the URL of the service?';
      throw new OperatorError(`${this.name}: ${error.message}${advice}`);
    });
    const lines = text.split('\n');
    if (lines.pop() !== '' && isWhole) throw new Unavailable('its answer ends within an event');
    return { lines, isWhole };
  }

  /**
   * Sends a request of JSON, and reads the JSON of its answer. Rejects with OperatorError if the service cannot be
   * reached or does not take the key, and with Refused for what it refuses.
   */
  send<Body>(method: HttpMethod, path: string, body?: object, conditions: Conditions = {}): Promise<Taken<Body>> {
    return this.attempt<Body>(method, path, body, conditions).catch((error: unknown) => {
      if (!(error instanceof Unavailable)) throw error;
      if (error.answer !== undefined) throw new OperatorError(`${this.name}: ${error.message}`);
      throw new OperatorError(`${this.name} does not answer: ${error.message}; does the service run?`);
    });
  }

  /** The same, but rejects with Unavailable for what a later attempt may bring. */
  async attempt<Body>(
    method: HttpMethod,
    path: string,
    body?: object,
    { ifMatch, idempotencyKey }: Conditions = {},
  ): Promise<Taken<Body>> {
    const headers = {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(ifMatch !== undefined && { 'if-match': ifMatch }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    };
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const answer = await this.exchange(method, path, headers, sent);
    const { status, text, headers: answered } = answer;
    if (status === 204) return { body: undefined as Body, etag: undefined };
    const parsed = parseJsonObject(text);
    if (status >= 200 && status < 300 && parsed !== undefined) return { body: parsed as Body, etag: answered.etag };
    if (status >= 400 && status < 500 && typeof parsed?.msg === 'string' && ![401, 403, 429].includes(status)) {
      throw new Refused(parsed.msg, status);
    }
    const refusal = this.refusalOf(answer);
    if (!(refusal instanceof Unavailable) || isTransientStatus(status)) throw refusal;
    throw new OperatorError(`${this.name}: ${refusal.message}`);
  }

  async read<Body>(path: string): Promise<Body> {
    return (await this.send<Body>('GET', path)).body;
  }

  /** The items of a list, page after page. It builds each URL itself, and takes no more of an answer than a query. */
  async *list<Item>(path: string, key: string, query: Readonly<Record<string, string>> = {}): AsyncGenerator<Item> {
    let parameters: string | undefined = new URLSearchParams({ limit: String(PAGE_SIZE), ...query }).toString();
    while (parameters !== undefined) {
      const page: Readonly<Record<string, unknown>> = await this.read(`${path}?${parameters}`);
      const items = page[key];
      if (!Array.isArray(items)) throw new OperatorError(`${this.name}/${path} has no ${key}: is this the service?`);
      yield* items as Item[];
      const next = page.next_page_uri;
      parameters = typeof next === 'string' ? new URL(next, this.url).search.slice(1) : undefined;
    }
  }

  async all<Item>(path: string, key: string, query?: Readonly<Record<string, string>>): Promise<readonly Item[]> {
    const items: Item[] = [];
    for await (const item of this.list<Item>(path, key, query)) items.push(item);
    return items;
  }

  private exchange(
    method: HttpMethod,
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: string,
    { isEnough, signal }: Partial<Pick<Wanted, 'isEnough' | 'signal'>> = {},
  ): Promise<Answer> {
    const request = { method, headers: { ...headers, authorization: `Bearer ${this.apiKey}` }, body };
    const limits = { maxMs: MAX_ANSWER_MS, signal };
    return this.http.exchange(new URL(path, `${this.name}/`), request, limits, (answering) =>
      readAnswer(answering, isEnough),
    );
  }

  private refusalOf({ status, headers, text }: Answer): OperatorError | Unavailable {
    const { msg, error_code: code } = parseJsonObject(text) ?? {};
    const said = msg ?? text.slice(0, MAX_QUOTED_CHARACTERS).trim();
    const reason = `it answers ${status} ${JSON.stringify(said)}`;
    if (status === 401 || status === 403) return new OperatorError(`${this.name}: ${reason}; check the API key`);
    if (status < 400) return new OperatorError(`${this.name}: ${reason}; is this the URL of the service?`);
    return new Unavailable(reason, { status, code, retryAfterMs: retryAfterMsOf(headers) });
  }
}
