import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Problem } from '../../../kernel/problem.js';
import type { HeaderValues } from '../cors.js';
import { JSON_TYPE, problemBody } from '../problem.filter.js';

/** A client that reads its answer closes; any other one is cut off after this time. */
const LINGER_MS = 2_000;

/**
 * The answer, as bytes, to what did not become a request: Fastify has no reply for it, so it goes to the connection.
 */
export function rawAnswer(operationId: string, headers: HeaderValues, problem: Problem): string {
  const body = JSON.stringify(problemBody(operationId, problem));
  const all = {
    ...headers,
    date: new Date().toUTCString(),
    'content-type': JSON_TYPE,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${lines.join('')}\r\n${body}`;
}

/**
 * Ends the connection after `text`. Reads on until the client closes: data that the service left unread would make the
 * kernel reset the connection, and the client could lose its answer.
 */
export function endWith(socket: Duplex, text: string): void {
  if (!socket.writable) return void socket.destroy();
  const cutOff = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(cutOff));
  socket.end(text);
  socket.resume();
}
