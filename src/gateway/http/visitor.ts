import { type ClientRequest, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventLoop } from '../../kernel/event-loop.js';
import type { Places } from '../../kernel/places.js';
import { sourceOf } from '../../rules/index.js';
import type { GatewayContext } from '../context/gateway-context.js';
import type { TunnelChannel } from '../protocol/tunnel-channel.js';
import { VisitRecord } from '../records/visit-record.js';
import { carry } from '../tunnels/carry.js';
import { connectSoon, ifSilent } from '../tunnels/connect-soon.js';
import type { OpenTunnel } from '../tunnels/open-tunnel.js';
import { type AskedRequest, BadRequest, endToEnd, MAX_HEADERS, pairsOf, readRequest } from './asked-request.js';
import { ChannelAgent } from './channel-agent.js';

export const MAX_HEADER_BYTES = 16_384;
/** Requests of a connection that are not answered. Programs that send several at once send some ten. */
const MAX_PIPELINED = 64;
/** A visitor whose name has tunnels gets an answer after this time, even if several tunnels are silent. */
const MAX_CONNECT_MS = 4_500;
const NO_ANSWER = 'The tunnel does not answer';
const SAFE: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/** The first bytes after an upgrade. */
interface Upgrade {
  readonly head: Buffer;
}

/** A connection of a visitor. Its requests are served one after another, each by the tunnel of its Host. */
export class Visitor {
  private agent: ChannelAgent | undefined;
  private last: Promise<void> = Promise.resolve();
  private unanswered = 0;
  private readonly record: VisitRecord;

  constructor(
    private readonly socket: Socket,
    private readonly context: GatewayContext,
    private readonly isProxy: (address: string) => boolean,
    /** The requests of all visitors that wait for an answer. */
    private readonly waiting: Places,
  ) {
    this.record = new VisitRecord(context);
    socket.once('end', () => this.agent?.channel.visitorEnds());
    socket.once('close', () => this.agent?.close());
  }

  serve(request: IncomingMessage, response: ServerResponse, upgrade?: Upgrade): void {
    const { remoteAddress = '' } = this.socket;
    // The first one is answered with 400.
    const isLarge = this.unanswered > 0 && request.rawHeaders.length > 2 * MAX_HEADERS;
    const isTooMuch = isLarge || this.unanswered >= MAX_PIPELINED;
    // All visitors of a proxy have its address. There the name that has most waiting gives way.
    const holder = this.isProxy(remoteAddress) ? hostIn(request) : sourceOf(remoteAddress);
    const place = isTooMuch ? undefined : this.waiting.hold([holder], () => this.socket.destroy());
    if (place === undefined) return void this.socket.destroy();
    this.unanswered += 1;
    this.last = this.last
      .then(() => this.relay(request, response, upgrade))
      .catch((error) => {
        this.socket.destroy();
        this.context.failures.count('GATEWAY_HTTP_LISTEN', error);
      })
      .finally(() => {
        this.unanswered -= 1;
        place.leave();
      });
  }

  private async relay(request: IncomingMessage, response: ServerResponse, upgrade?: Upgrade): Promise<void> {
    if (this.socket.destroyed) return;
    const { remoteAddress = '' } = this.socket;
    try {
      const path = this.context.names.pathOf(hostIn(request)) ?? ['strangers', sourceOf(remoteAddress)];
      const asked = await eventLoop.run(path, () => readRequest(request, this.isProxy, upgrade !== undefined));
      const agent = await this.agentFor(asked);
      // Its response has told its end already, and tells it no second time.
      if (this.socket.destroyed) return;
      if (typeof agent !== 'string') return await this.exchange(request, response, asked, agent, upgrade);
      this.record.refused(agent, asked);
      if (agent === 'no_tunnel') answer(response, 404, 'Not found');
      else answer(response, 502, NO_ANSWER);
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error;
      this.record.malformed();
      answer(response, 400, `Bad request: ${error.message}`);
    }
  }

  /** The channel of the request before, if it is for the same tunnel and visitor. Otherwise a new one, or why there is none. */
  private async agentFor(asked: AskedRequest): Promise<ChannelAgent | 'no_tunnel' | 'no_answer'> {
    const { host, source } = asked;
    const tunnels = this.context.names.find(host);
    if (tunnels === undefined) return 'no_tunnel';
    const { agent } = this;
    const isSame = agent !== undefined && agent.visitor === source.address && tunnels.includes(agent.tunnel);
    if (isSame && (await agent.isUsable())) return agent;
    agent?.close();
    this.agent = undefined;
    const until = performance.now() + MAX_CONNECT_MS;
    for (const tunnel of tunnels) {
      const opening = connectSoon(tunnel, source);
      const late = sleep(Math.max(0, until - performance.now()), undefined, { ref: false });
      const channel = await Promise.race([opening, late]);
      if (channel !== undefined) return this.opened(channel, tunnel, asked);
      opening.then((one) => one?.cut('the visitor has its answer')).catch(() => undefined);
    }
    return 'no_answer';
  }

  private opened(channel: TunnelChannel, tunnel: OpenTunnel, asked: AskedRequest): ChannelAgent {
    channel.peer = this.socket;
    const agent = new ChannelAgent(channel, tunnel, asked.source.address);
    this.record.carried(channel, tunnel, asked);
    this.agent = agent;
    if (this.socket.destroyed) agent.close();
    return agent;
  }

  private exchange(
    request: IncomingMessage,
    response: ServerResponse,
    asked: AskedRequest,
    agent: ChannelAgent,
    upgrade?: Upgrade,
  ): Promise<void> {
    const { method = 'GET' } = request;
    agent.begin();
    const outgoing = send({
      ...{ agent, method, path: asked.path, headers: asked.headers, maxHeaderSize: MAX_HEADER_BYTES },
    });
    // 0: no header is left out.
    outgoing.maxHeadersCount = 0;
    outgoing.on('information', () => {
      agent.isSpent = true;
    });
    outgoing.once('response', (incoming) => this.respond(incoming, { request, response, agent, outgoing }));
    request.once('error', () => agent.close());
    const answered = ifSilent(agent.tunnel, () => agent.close());
    const unwatch = upgrade && onUnreadEnd(this.socket, () => this.socket.destroy());
    outgoing.once('response', answered).once('upgrade', answered).once('close', answered);
    const done = new Promise<void>((resolve) => {
      let hasFailed = false;
      const failed = (): void => {
        if (hasFailed || response.headersSent || this.socket.destroyed || response.socket === null) return;
        hasFailed = true;
        agent.close();
        if (outgoing.reusedSocket && mayRepeat(request)) {
          resolve(this.relay(request, response, upgrade));
          return;
        }
        this.record.refused('no_answer', asked);
        answer(response, 502, NO_ANSWER);
      };
      outgoing.once('error', failed).once('close', failed);
      outgoing.once('upgrade', (incoming, _, head) => {
        if (upgrade === undefined || !asked.switches) return agent.close();
        unwatch?.();
        this.switchProtocols(incoming, response, agent, [upgrade.head, head]);
        // The response is off its connection, and tells no end.
        resolve();
      });
      response.once('close', () => {
        if (!request.complete) agent.close();
        resolve();
      });
    });
    request.pipe(outgoing);
    return done;
  }

  private respond(incoming: IncomingMessage, { request, response, agent, outgoing }: Exchange): void {
    const status = incoming.statusCode ?? 0;
    const isEarly = !request.complete;
    const hasNoBody = request.method === 'HEAD' || status === 204 || status === 304;
    if (isEarly || hasNoBody) agent.isSpent = true;
    const fail = (): void => {
      agent.close();
      this.socket.resetAndDestroy();
    };
    incoming.once('error', fail).once('close', () => {
      if (!incoming.complete) fail();
      else if (agent.isSpent || !outgoing.shouldKeepAlive) agent.close();
    });
    // Node knows no answer below 200 here, and writes none.
    if (status < 200) {
      fail();
      return;
    }
    response.sendDate = false;
    if (isEarly) response.shouldKeepAlive = false;
    response.writeHead(status, endToEnd(pairsOf(incoming.rawHeaders)).flat());
    // flushHeaders() would write the headers as UTF-8, although Node has read each byte as a character.
    response.write(Buffer.alloc(0));
    incoming.pipe(response);
    response.once('close', () => {
      if (!incoming.complete) agent.close();
    });
  }

  private switchProtocols(
    incoming: IncomingMessage,
    response: ServerResponse,
    { channel }: ChannelAgent,
    heads: readonly [ofVisitor: Buffer, ofTunnel: Buffer],
  ): void {
    const { socket } = this;
    this.agent = undefined;
    response.detachSocket(socket);
    const headers = [
      ['Connection', 'Upgrade'],
      ['Upgrade', incoming.headers.upgrade ?? ''],
    ];
    const lines = [...headers, ...endToEnd(pairsOf(incoming.rawHeaders))].map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`, 'latin1');
    if (heads[0].length > 0) socket.unshift(heads[0]);
    if (heads[1].length > 0) channel.unshift(heads[1]);
    carry(socket, channel);
  }
}

/** Calls `gone` when a connection ends that nobody reads, up to its first byte. Returns what ends that. */
function onUnreadEnd(socket: Socket, gone: () => void): () => void {
  const stop = (): void => void socket.off('readable', look).off('end', gone);
  const look = (): void => {
    const early = socket.read();
    if (early === null) return;
    stop();
    socket.unshift(early);
  };
  socket.on('readable', look).once('end', gone);
  return stop;
}

/** The channel of the request before may have ended meanwhile. A body was read, and cannot be sent again. */
function mayRepeat({ method = '', headers }: IncomingMessage): boolean {
  const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
  return SAFE.includes(method) && !hasBody;
}

/** As far as the work is counted by it: `readRequest` decides what the host is. */
const hostIn = ({ headers: { host = '' } }: IncomingMessage): string => host.replace(/:\d*$/, '').toLowerCase();

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly agent: ChannelAgent;
  readonly outgoing: ClientRequest;
}

/** A plain page. The connection ends after it, so that a body which nobody reads is no next request. */
export function answer(response: ServerResponse, status: number, text: string): void {
  response.shouldKeepAlive = false;
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' });
  response.end(`${text}\n`);
}
