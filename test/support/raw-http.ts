import { request } from 'node:http';
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
    const sent = request(new URL(url + path), { method, headers, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        const seen = answer.headers as Record<string, string | undefined>;
        resolve({ status: answer.statusCode ?? 0, headers: seen, bytes: Buffer.concat(chunks) });
      });
    });
    sent.on('error', reject).end(body);
  });

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
