import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { IdSource } from '../../../kernel/ids.js';
import { Problem, type ProblemName } from '../../../kernel/problem.js';
import type { HeaderValues } from '../cors.js';
import type { RequestLog } from '../logging/request-log.js';
import { unsupportedVersion } from './protocol.js';
import { endWith, rawAnswer } from './raw-answer.js';

const RAW_PROBLEMS = new Map<string | undefined, [ProblemName, string]>([
  ['HPE_HEADER_OVERFLOW', ['headers_too_large', 'The request headers are too large.']],
  ['ERR_HTTP_REQUEST_TIMEOUT', ['request_timed_out', 'The request did not arrive in time.']],
]);

/** Answers what did not become a request, in the same shape as any other error. */
export class HttpConnections {
  /**
   * The answers of each connection that were not complete when its newest request came; the last one answers that
   * request. A client may send further requests before it has read them (pipelining).
   */
  private readonly answers = new WeakMap<Duplex, readonly ServerResponse[]>();
  private readonly refused = new WeakSet<Duplex>();
  private readonly awaitingContinue = new WeakSet<IncomingMessage>();

  constructor(
    private readonly ids: IdSource,
    /** The headers that every answer has. */
    private readonly headersOf: (operationId: string) => HeaderValues,
    private readonly log: Pick<RequestLog, 'refused'>,
  ) {}

  watch(server: Server): void {
    server.prependListener('request', (_, response) => this.track(response));
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (error.code === 'ECONNRESET') socket.destroy();
      else void this.refuse(socket, problemOf(error));
    });
    // Without these listeners Node would send 100 before authentication, 417 without a body, and no answer to CONNECT.
    server.on('checkContinue', (request, response) => {
      this.awaitingContinue.add(request);
      server.emit('request', request, response);
    });
    server.on('checkExpectation', (request, response) => server.emit('request', request, response));
    server.on('connect', (_, socket) => {
      void this.refuse(socket, new Problem('not_implemented', 'The service is not a proxy: it does not know CONNECT.'));
    });
  }

  /** Sends 100 to a client that waits for it before it sends its body. */
  sendContinue(response: ServerResponse): void {
    if (this.awaitingContinue.delete(response.req)) response.writeContinue();
  }

  private track(response: ServerResponse): void {
    const { socket } = response.req;
    this.answers.set(socket, [...this.inFlight(socket), response]);
  }

  private inFlight(socket: Duplex): readonly ServerResponse[] {
    return this.answers.get(socket)?.filter(({ closed }) => !closed) ?? [];
  }

  /**
   * Answers in place of the request that the bytes would have become, or of the one whose body they broke. The requests
   * before it are answered first: a client reads answers in the order of its requests, so it would take this one for
   * the answer to the oldest of them.
   */
  private async refuse(socket: Duplex, problem: Problem): Promise<void> {
    // Every further piece of data is an error again.
    if (this.refused.has(socket)) return;
    this.refused.add(socket);
    socket.on('error', () => socket.destroy());
    const newest = this.answers.get(socket)?.at(-1);
    const isBroken = (response: ServerResponse): boolean => !response.req.complete && !response.headersSent;
    await Promise.all(
      this.inFlight(socket)
        .filter((response) => !isBroken(response))
        .map(closed),
    );
    const isAnswered = newest !== undefined && !newest.req.complete && newest.headersSent;
    endWith(socket, isAnswered ? '' : this.answer(socket, problem));
  }

  private answer(socket: Duplex, problem: Problem): string {
    const operationId = this.ids.next('op');
    this.log.refused(operationId, problem, socket instanceof Socket ? socket.remoteAddress : undefined);
    return rawAnswer(operationId, this.headersOf(operationId), problem);
  }
}

function problemOf({ code }: NodeJS.ErrnoException): Problem {
  if (code === 'HPE_INVALID_VERSION') return unsupportedVersion();
  return new Problem(...(RAW_PROBLEMS.get(code) ?? ['request_malformed', 'The request is not valid HTTP.']));
}

const closed = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    response.once('close', resolve);
  });
