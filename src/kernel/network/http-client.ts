import { Agent as HttpAgent, type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { messageOf } from '../error-message.js';
import { omitUndefined } from '../omit-undefined.js';
import { Unavailable } from './unavailable.js';

export type HttpMethod = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

interface HttpRequest {
  readonly method?: HttpMethod;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Certificates to trust instead of the system's. */
  readonly ca?: string | undefined;
}

export interface Limits {
  /** The longest wait for the whole answer, or for the next part of an answer that is a stream. */
  readonly maxMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** False if the text is only the beginning of what was sent. */
  readonly isWhole: boolean;
}

/** Reads an answer. Each call of `heard` starts the time limit again. */
export type Read<T> = (answer: IncomingMessage, heard: () => void) => Promise<T>;

/**
 * Firewalls forget a connection that is idle for minutes, and tell neither end. So idle connections end before that.
 */
const KEEP_ALIVE = { keepAlive: true, timeout: 4_000 };
const HEADERS = { 'user-agent': 'tunnel-access', accept: '*/*' };
const MAX_ANSWER_CHARACTERS = 16 * 1024 * 1024;

/**
 * Sends requests to other servers over connections that it keeps. It does not use `fetch`, which can leave an unused
 * connection open that a stopping service would wait for.
 */
export class HttpClient {
  private readonly agents = { http: new HttpAgent(KEEP_ALIVE), https: new HttpsAgent(KEEP_ALIVE) };

  /**
   * Sends a request, and reads its answer. A redirect is an answer and is not followed: it could lead to a host that
   * the operator does not know. Rejects with Unavailable if the answer is late or breaks off, and when the signal
   * aborts.
   */
  async exchange<T>(url: URL, request: HttpRequest, { maxMs, signal }: Limits, read: Read<T>): Promise<T> {
    // AbortSignal.any leaks in Node 20: a long-lived signal keeps every signal that was derived from it.
    const ending = new AbortController();
    const stop = (): void => ending.abort(signal?.reason);
    const timer = setTimeout(() => ending.abort(new Error(`no answer within ${maxMs / 1000} s`)), maxMs);
    signal?.addEventListener('abort', stop);
    let answer: IncomingMessage | undefined;
    try {
      signal?.throwIfAborted();
      answer = await this.send(url, request, ending.signal);
      return await read(answer, () => void timer.refresh());
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof Unavailable) throw error;
      // The error of an abort does not carry the reason.
      throw new Unavailable(reasonOf(ending.signal.aborted ? ending.signal.reason : error));
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
      // After an answer that was read to its end, this keeps the connection.
      answer?.destroy();
    }
  }

  /** The JSON of an answer with status 200. Rejects with Unavailable for any other answer. */
  getJson(url: URL, maxMs: number): Promise<unknown> {
    return this.exchange(url, {}, { maxMs }, async (answer) => {
      const { status, text } = await readAnswer(answer);
      if (status !== 200) throw new Error(`it answers ${status}`);
      return JSON.parse(text);
    });
  }

  /** Ends the connections. */
  close(): void {
    this.agents.http.destroy();
    this.agents.https.destroy();
  }

  /** Sends a request, and resolves with the head of the answer. Later failures are errors of the answer. */
  private send(url: URL, request: HttpRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const { method = 'GET', headers, body, ca } = request;
    const isTls = url.protocol === 'https:';
    const agent = isTls ? this.agents.https : this.agents.http;
    const options = { method, headers: { ...HEADERS, ...headers }, agent, signal, ...omitUndefined({ ca }) };
    return new Promise((resolve, reject) => {
      const sent = isTls ? requestHttps(url, options) : requestHttp(url, options);
      sent.once('error', reject).once('response', (answer) => {
        sent.on('error', (error) => answer.destroy(error));
        resolve(answer);
      });
      sent.end(body);
    });
  }
}

/** Replaces Node's messages "socket hang up" and "aborted". */
function reasonOf(error: unknown): string {
  const isClosed = typeof error === 'object' && error !== null && 'code' in error && error.code === 'ECONNRESET';
  return isClosed ? 'the connection was closed before the end of the answer' : messageOf(error);
}

/** Reads the text of an answer, or only its beginning if that is enough. */
export async function readAnswer(
  answer: IncomingMessage,
  isEnough: (text: string) => boolean = () => false,
): Promise<Answer> {
  const { statusCode: status = 0, headers } = answer;
  let text = '';
  for await (const part of answer.setEncoding('utf8')) {
    text += part;
    if (isEnough(text)) return { status, headers, text, isWhole: false };
    if (text.length > MAX_ANSWER_CHARACTERS) throw new Error('its answer is too long');
  }
  return { status, headers, text, isWhole: true };
}
