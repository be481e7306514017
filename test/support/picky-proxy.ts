import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { stopAtEnd } from './leftovers.js';

/** A proxy before the service that can refuse, delay or lose requests. A test names them by a part of the path. */
export class PickyProxy {
  private readonly refused = new Set<string>();
  private readonly delays = new Map<string, number>();
  private readonly losses: RegExp[] = [];
  private readonly answers = new Set<ServerResponse>();

  private constructor(
    readonly url: string,
    private readonly serviceUrl: string,
  ) {}

  static async to(serviceUrl: string): Promise<PickyProxy> {
    let proxy: PickyProxy | undefined;
    const server = createServer((question, answer) => void proxy?.pass(question, answer)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    stopAtEnd(async () => {
      server.close();
      server.closeAllConnections();
    });
    proxy = new PickyProxy(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, serviceUrl);
    return proxy;
  }

  /** Answers requests for these paths with 503, and cuts those under way. */
  refuse(...paths: readonly string[]): void {
    for (const path of paths) this.refused.add(path);
    for (const answer of this.answers) if (this.isRefused(answer.req.url)) answer.destroy();
  }

  allow(...paths: readonly string[]): void {
    for (const path of paths) this.refused.delete(path);
  }

  /** Delays answers to this path by this time. 0 ends the delay. */
  delay(path: string, ms: number): void {
    this.delays.set(path, ms);
  }

  /** Loses the next part of a stream that matches the pattern. */
  loseOne(pattern: RegExp): void {
    this.losses.push(pattern);
  }

  private isRefused(url: string | undefined): boolean {
    return [...this.refused].some((path) => url?.split('?')[0]?.endsWith(path));
  }

  private async pass(question: IncomingMessage, answer: ServerResponse): Promise<void> {
    this.answers.add(answer);
    answer.once('close', () => this.answers.delete(answer));
    for (const [path, ms] of this.delays) if (question.url?.endsWith(path)) await sleep(ms);
    if (this.isRefused(question.url)) {
      question.resume();
      answer.writeHead(503).end();
      return;
    }
    const { method = 'GET', headers } = question;
    const asked = request(`${this.serviceUrl}${question.url}`, { method, headers }, (given) => {
      answer.writeHead(given.statusCode ?? 502, given.headers);
      given.on('data', (data: Buffer) => {
        const lost = this.losses.findIndex((pattern) => pattern.test(String(data)));
        if (lost >= 0) this.losses.splice(lost, 1);
        else answer.write(data);
      });
      given.on('end', () => answer.end()).on('error', () => answer.destroy());
    });
    asked.on('error', () => answer.destroy());
    answer.once('close', () => asked.destroy());
    question.pipe(asked);
  }
}
