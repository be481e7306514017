import { Agent, type IncomingMessage, request } from 'node:http';

const agent = new Agent({ keepAlive: true });

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Sends one request and reads the whole answer, except a live stream. Rejects with the error of the connection. */
export const exchange = (url: string, method: string, headers: Record<string, string>, body?: string | Buffer) =>
  new Promise<HttpAnswer>((resolve, reject) => {
    const sent = request(url, { method, agent, headers: { 'user-agent': 'node', accept: '*/*', ...headers } });
    sent.on('error', reject).on('response', (response) => {
      let text = '';
      // For a stream of events only the head is read, since the stream does not end.
      if (response.headers['content-type'] === 'text/event-stream' && method !== 'HEAD') {
        resolve({ status: response.statusCode ?? 0, headers: headersOf(response), text });
        return void response.destroy();
      }
      response
        .setEncoding('utf8')
        .on('error', reject)
        .on('data', (part: string) => {
          text += part;
        })
        .on('end', () => resolve({ status: response.statusCode ?? 0, headers: headersOf(response), text }));
    });
    sent.end(body);
  });

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let n = 0; n < rawHeaders.length; n += 2) headers.append(rawHeaders[n] ?? '', rawHeaders[n + 1] ?? '');
  return headers;
}
