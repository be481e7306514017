import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { ADMIN_KEY } from './service.js';

export const AUTHORIZATION = { authorization: `Bearer ${ADMIN_KEY}` };

export interface RawAnswer {
  readonly status: number;
  readonly headers: Record<string, string | undefined>;
  readonly bytes: Buffer;
}

/** Sends one request on a new connection. Unlike fetch, it adds no header and decodes no encoding. */
export const call = (
  url: string,
  method: string,
  path: string,
  headers: Record<string, string> = AUTHORIZATION,
  body = '',
): Promise<RawAnswer> =>
  new Promise((resolve, reject) => {
    const sent = request(new URL(url + path), { method, headers, agent: false }, (answer) =>
      readAnswer(answer, resolve),
    );
    sent.on('error', reject).end(body);
  });

/** A request whose headers are sent and whose body is still to come. */
export interface StalledRequest {
  /** Resolves when the service asks for the body, after `Expect: 100-continue`. */
  isAwaited(): Promise<void>;
  /** Sends the body. */
  finish(): Promise<RawAnswer>;
}

/** Sends the headers of a request on a new connection. */
export function stall(
  url: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body: string,
): StalledRequest {
  const length = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
  const sent = request(new URL(url + path), { method, headers: { ...headers, ...length }, agent: false });
  sent.flushHeaders();
  const answer = new Promise<RawAnswer>((resolve, reject) => {
    sent.on('error', reject).on('response', (response) => readAnswer(response, resolve));
  });
  const awaited = once(sent, 'continue');
  awaited.catch(() => undefined);
  return {
    isAwaited: async () => void (await awaited),
    finish: () => {
      sent.end(body);
      return answer;
    },
  };
}

function readAnswer(response: IncomingMessage, resolve: (answer: RawAnswer) => void): void {
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => chunks.push(chunk));
  response.on('end', () => {
    const headers = response.headers as Record<string, string | undefined>;
    resolve({ status: response.statusCode ?? 0, headers, bytes: Buffer.concat(chunks) });
  });
}

/** Writes the pieces one after another and reads until the connection ends. */
export function sendRaw(url: string, pieces: readonly string[], everyMs = 0): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let [answer, n] = ['', 0];
    const socket = connect(Number(port), hostname);
    const timer = setInterval(() => {
      const piece = pieces[n];
      if (piece === undefined) return clearInterval(timer);
      socket.write(piece);
      n += 1;
    }, everyMs);
    socket.on('data', (data) => {
      answer += data;
    });
    socket.on('error', reject).on('end', () => socket.end());
    socket.on('close', () => {
      clearInterval(timer);
      resolve(answer);
    });
  });
}

/** One answer in the bytes of a connection. */
export interface ParsedAnswer {
  readonly status: number;
  readonly headers: Record<string, string | undefined>;
  readonly body: string;
}

/** All answers in what a connection received, interim ones included. Throws if they are not whole. */
export function parseAnswers(received: string): ParsedAnswer[] {
  const answers: ParsedAnswer[] = [];
  for (let rest = received; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n');
    const [line = '', ...lines] = rest.slice(0, end).split('\r\n');
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1];
    if (end < 0 || status === undefined) throw new Error(`not an answer: ${JSON.stringify(rest.slice(0, 200))}`);
    const pairs = lines.map((one): [string, string] => [
      one.replace(/:.*/, '').toLowerCase(),
      one.replace(/^.*?: /, ''),
    ]);
    const headers: Record<string, string | undefined> = Object.fromEntries(pairs);
    const bodyEnd = end + 4 + Number(headers['content-length'] ?? 0);
    if (rest.length < bodyEnd) throw new Error('the last answer is cut off');
    answers.push({ status: Number(status), headers, body: rest.slice(end + 4, bodyEnd) });
    rest = rest.slice(bodyEnd);
  }
  return answers;
}

/** A connection that stays open, for requests that are sent in steps. */
export interface Conversation {
  readonly received: () => string;
  send(text: string): void;
  /** Waits until what was received matches. */
  hears(pattern: RegExp): Promise<void>;
  /** Waits until the service has closed the connection. */
  closed(): Promise<void>;
  reset(): void;
}

export async function converse(url: string, { allowHalfOpen = false } = {}): Promise<Conversation> {
  const { hostname, port } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen });
  let received = '';
  let isClosed = false;
  socket.on('data', (data) => {
    received += data;
  });
  socket
    .on('error', () => undefined)
    .on('close', () => {
      isClosed = true;
    });
  await new Promise((resolve) => socket.once('connect', resolve));
  const until = async (what: string, condition: () => boolean): Promise<void> => {
    const deadline = Date.now() + 10_000;
    while (!condition()) {
      if (Date.now() > deadline) throw new Error(`waited in vain until ${what}; received ${JSON.stringify(received)}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  return {
    received: () => received,
    send: (text) => void socket.write(text),
    hears: (pattern) => until(`it hears ${pattern}`, () => pattern.test(received)),
    closed: () => until('the connection is closed', () => isClosed),
    reset: () => void socket.resetAndDestroy(),
  };
}
