import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { omitUndefined } from '../../omit-undefined.js';

type ServiceRequest = {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Certificates to trust instead of the system's. */
  readonly ca?: string | undefined;
} & Ending;

/** A signal ends the request, or a longer silence of the service does. */
type Ending =
  | { readonly signal: AbortSignal; readonly maxSilenceMs?: undefined }
  | { readonly signal: AbortSignal | undefined; readonly maxSilenceMs: number };

/**
 * Requests over connections that are kept. Not `fetch`: it can leave a connection open on which it sends nothing, for
 * which a service that stops would wait.
 */
export class ServiceRequests {
  private readonly agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };

  /** Later failures are errors of the answer. */
  send(url: string, request: ServiceRequest): Promise<IncomingMessage> {
    const { method, headers, signal, body, ca, maxSilenceMs } = request;
    const isTls = url.startsWith('https:');
    return new Promise((resolve, reject) => {
      const agent = isTls ? this.agents.https : this.agents.http;
      const options = { method, headers, agent, ...omitUndefined({ signal, ca }) };
      const sent = isTls ? requestHttps(url, options) : requestHttp(url, options);
      if (maxSilenceMs !== undefined) {
        sent.setTimeout(maxSilenceMs, () => sent.destroy(new Error(`the service said nothing for ${maxSilenceMs} ms`)));
      }
      sent.once('error', reject).once('response', (answer) => {
        sent.on('error', (error) => answer.destroy(error));
        resolve(answer);
      });
      sent.end(body);
    });
  }

  close(): void {
    this.agents.http.destroy();
    this.agents.https.destroy();
  }
}

export async function textOf(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of answer.setEncoding('utf8')) text += part;
  return text;
}
