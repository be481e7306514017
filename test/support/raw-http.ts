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
  return {
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
