import { readFile } from 'node:fs/promises';
import { messageOf } from '../../../kernel/error-message.js';
import { parseJsonObject } from '../../../kernel/json-object.js';
import { type Answer, HttpClient, readAnswer } from '../../../kernel/network/http-client.js';
import { retryAfterMsOf, Unavailable } from '../../../kernel/network/unavailable.js';
import { OperatorError, UsageError } from '../../../kernel/operator-error.js';
import { tell } from '../../print.js';
import { isConfidential } from './http-url.js';

const MAX_ANSWER_MS = 30_000;
const MAX_QUOTED_CHARACTERS = 200;

interface Wanted {
  readonly accept: string;
  /** Whether the beginning of the text is enough. */
  readonly isEnough: (text: string) => boolean;
  readonly signal: AbortSignal;
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
    const key = text.trim();
    if (!/^[\x21-\x7e]+$/.test(key)) throw new UsageError(`${file} must hold an API key and nothing else`);
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
    const request = { headers: { accept, authorization: `Bearer ${this.apiKey}` } };
    const limits = { maxMs: MAX_ANSWER_MS, signal };
    const answer = await this.http.exchange(new URL(path, `${this.name}/`), request, limits, (answering) =>
      readAnswer(answering, isEnough),
    );
    const { status, headers, text } = answer;
    if (status === 200) return answer;
    const { msg, error_code: code } = parseJsonObject(text) ?? {};
    const said = msg ?? text.slice(0, MAX_QUOTED_CHARACTERS).trim();
    const reason = `it answers ${status} ${JSON.stringify(said)}`;
    if (status === 401 || status === 403) throw new OperatorError(`${this.name}: ${reason}; check the API key`);
    if (status < 400) throw new OperatorError(`${this.name}: ${reason}; is this the URL of the service?`);
    throw new Unavailable(reason, { status, code, retryAfterMs: retryAfterMsOf(headers) });
  }
}
