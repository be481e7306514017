import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { stopAtEnd } from '../support/leftovers.js';

export interface RecordedRequest {
  readonly method: string;
  /** With its query, as sent. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface RecordingProxy {
  readonly url: string;
  readonly requests: RecordedRequest[];
  stop(): Promise<void>;
}

/** Stops a client that requests one page endlessly. */
const MOST_REQUESTS = 200;

/** Forwards everything unchanged, with the Host header, and records the client's requests. */
export async function startRecordingProxy(target: string): Promise<RecordingProxy> {
  const { hostname: host, port } = new URL(target);
  const requests: RecordedRequest[] = [];
  const server = createServer(async (incoming, outgoing) => {
    if (requests.length >= MOST_REQUESTS) return void outgoing.destroy();
    const { method = '', url: path = '', headers } = incoming;
    const body = await buffer(incoming);
    requests.push({ method, path, headers, body: body.toString() });
    const onward = request({ host, port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    onward.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = stopAtEnd(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, stop };
}
