import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';

interface ServiceRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly body: string | undefined;
}

/**
 * Requests over connections that are kept. Not `fetch`: it can leave a connection open on which it sends nothing, for
 * which a service that stops would wait.
 */
export class ServiceRequests {
  private readonly agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };

  /** Later failures are errors of the answer. */
  send(url: string, { method, headers, signal, body }: ServiceRequest): Promise<IncomingMessage> {
    const isTls = url.startsWith('https:');
    return new Promise((resolve, reject) => {
      const options = { method, headers, signal, agent: isTls ? this.agents.https : this.agents.http };
      const sent = isTls ? requestHttps(url, options) : requestHttp(url, options);
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
