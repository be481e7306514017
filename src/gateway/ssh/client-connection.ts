import type { BufferHolder } from '../context/buffer-budget.js';
import type { GatewayContext } from '../context/gateway-context.js';
import { shortened } from '../log/shortened.js';
import type { ChannelLink } from '../protocol/channel-link.js';
import type { OpenChannel } from '../protocol/channels.js';
import type { ClientService, Connection } from '../protocol/connection.js';
import type { Answer } from '../protocol/global-requests.js';
import type { Violation } from '../protocol/violation.js';
import type { ConnectionRecord } from '../records/connection-record.js';
import type { IdentifiedKey } from '../service-client.js';
import type { Stop } from '../sessions/open-sessions.js';
import { BindRefused } from '../tunnels/bind-refused.js';
import { ClientBinds } from './client-binds.js';
import { ClientChannels } from './client-channels.js';
import { ClientUsage, type Limits, type RequestKind } from './limits.js';
import { stopSentence } from './sentences.js';
import { Terminal } from './terminal.js';

/** How long the last lines of a session have to reach the client. */
const FAREWELL_MS = 200;
/** How long a client may take to close its side after the gateway has ended the connection. */
const MAX_CLOSING_MS = 2_000;

interface Client {
  readonly identity: IdentifiedKey;
  readonly source: string;
  /** The source by which limits count: an IPv4 address, or the /64 of an IPv6 address. */
  readonly network: string;
  readonly record: ConnectionRecord;
}

/** A client that has logged in. */
export class ClientConnection implements ClientService, BufferHolder {
  /** A key with several credentials counts for the oldest one. */
  readonly credentialId: string;
  private readonly terminal: Terminal;
  private readonly binds: ClientBinds;
  private readonly usage: ClientUsage;
  private readonly idle: NodeJS.Timeout;
  /** A sentence if the credential has too many connections. */
  private readonly refusal: string | undefined;
  private rateTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly context: GatewayContext,
    private readonly connection: Connection,
    private readonly client: Client,
    limits: Limits,
  ) {
    const { identity, source, network, record } = client;
    this.credentialId = identity.credentials[0]?.credential_id ?? identity.fingerprint;
    const { credentialId } = this;
    this.usage = new ClientUsage({ credentialId, accountId: identity.account_id, source: network }, limits);
    this.terminal = new Terminal(
      () => this.binds.isEmpty,
      () => this.leave(),
    );
    const channels = new ClientChannels(connection, this.usage, context, this.terminal);
    const attempt = (act: () => void): void => connection.transport.attempt(act);
    this.binds = new ClientBinds(
      context,
      { identity, source, attempt, record, signs: connection.signs, giveWay: () => this.giveWay() },
      this.usage,
      channels,
      this.terminal,
      () => this.endSoon('no_bind'),
    );
    this.idle = setInterval(() => attempt(() => this.endIfIdle()), context.settings.idleMs).unref();
    this.refusal = this.usage.take('connections');
    this.enter();
  }

  /** Pauses a client that asks for more than its rate. */
  count(kind: RequestKind): void {
    this.pauseFor(this.usage.pauseAfter(kind));
  }

  async bind(address: string, port: number): Promise<Answer> {
    try {
      if (this.refusal !== undefined) throw new BindRefused('too_many', this.refusal);
      return await this.binds.open(address, port);
    } catch (error) {
      if (!(error instanceof BindRefused)) throw error;
      const { account_id: account } = this.client.identity;
      const about = { credential: this.credentialId, account, source: this.client.source };
      const fields = { event: 'bind_refused', ...about, bind: `${shortened(address)}:${port}`, reason: error.reason };
      this.context.refusals.line({ name: this.credentialId, account }, fields, `refused a bind: ${error.message}`);
      return false;
    }
  }

  cancel(address: string, port: number): boolean {
    return this.binds.cancel(address, port);
  }

  openSession(link: ChannelLink): OpenChannel | undefined {
    return this.terminal.open(link, this.connection.transport);
  }

  /** Stops reading, and tells the client why. */
  overflowed(max: number): void {
    this.connection.transport.pause('too many requests');
    const reason = `refused: the connection has ${max} requests without an answer, which is the maximum`;
    this.terminal.say(reason);
    const { credentialId: credential, client } = this;
    const subject = { name: credential, account: client.identity.account_id };
    this.context.lines.connections.line(subject, { credential }, `ended a connection: ${reason}`, 'warn');
    this.endSoon('unanswered_requests');
  }

  get bufferedBytes(): number {
    return this.connection.transport.bufferedBytes + this.connection.channels.bufferedBytes;
  }

  pause(): void {
    this.connection.transport.pause('memory');
  }

  resume(): void {
    this.connection.transport.resume('memory');
  }

  get isOver(): boolean {
    return !this.connection.transport.isOpen;
  }

  /** Ends the connection of a visitor first: that a visitor does not read is not the fault of the client. */
  shed(violation: Violation): void {
    const { channels, transport } = this.connection;
    if (!channels.cutLargest(violation.message)) transport.fail(violation);
  }

  private enter(): void {
    this.context.buffers.add(this);
    this.connection.onceClosed(() => this.close());
    this.count('login');
    const { session } = this.client.record;
    if (session !== undefined) session.onStop = (stop) => this.connection.transport.attempt(() => this.stop(stop));
    if (this.refusal === undefined) return;
    this.terminal.say(`refused: ${this.refusal}`);
    this.context.metrics.refusedBinds.inc({ reason: 'too_many' });
    this.endSoon('too_many');
  }

  private pauseFor(ms: number): void {
    if (ms === 0) return;
    const { transport } = this.connection;
    transport.pause('rate');
    clearTimeout(this.rateTimer);
    this.rateTimer = setTimeout(() => transport.resume('rate'), ms).unref();
  }

  private giveWay(): void {
    this.terminal.say('closed: a newer connection of the credential took its address over');
    this.endSoon('taken_over');
    this.binds.close();
  }

  private stop(stop: Stop): void {
    this.terminal.say(stopSentence(stop));
    this.endSoon(stop.restart ? 'restarted' : 'stopped');
  }

  private endIfIdle(): void {
    if (!this.binds.isUnused) return;
    this.terminal.say('closed: the client has no bind');
    this.endSoon('idle');
  }

  private endSoon(reason: string): void {
    this.client.record.ends(reason);
    setTimeout(() => this.end(), FAREWELL_MS).unref();
  }

  /** Its user pressed Ctrl-C in the session. */
  private leave(): void {
    this.client.record.ends('client');
    this.end();
  }

  private end(): void {
    this.connection.transport.end(MAX_CLOSING_MS);
  }

  private close(): void {
    clearInterval(this.idle);
    this.binds.close();
    if (this.refusal === undefined) this.usage.release('connections');
  }
}
