import { type Agent, createServer, type IncomingMessage, type RequestListener, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { stopAtEnd } from './leftovers.js';

/** A program at the end of a tunnel. */
export async function serveProgram(serve: RequestListener) {
  const server = createServer(serve).listen(0, '127.0.0.1');
  stopAtEnd(async () => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise((resolve) => server.once('listening', resolve));
  return { server, port: (server.address() as AddressInfo).port };
}

/** The port of a program that answers each request with this text. */
export const servePage = async (text: string): Promise<number> =>
  (await serveProgram((_, response) => response.end(text))).port;

/** Asks a gateway for a name. */
export function askNames(port: number, host: string, agent?: Agent): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request({ port, headers: { host }, agent: agent ?? false }, async (answer: IncomingMessage) => {
      const parts: Buffer[] = [];
      try {
        for await (const part of answer) parts.push(part);
        resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(parts).toString() });
      } catch (error) {
        reject(error);
      }
    });
    asked.once('error', reject).end();
  });
}
