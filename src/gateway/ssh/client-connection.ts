import type { Connection } from 'ssh2';
import type { GatewayContext } from '../gateway-context.js';
import type { CredentialUsage, Limits } from '../limits.js';
import type { IdentifiedKey } from '../service-client.js';
import { BindRefused } from './bind-request.js';
import { ClientBinds } from './client-binds.js';
import { ClientChannels } from './client-channels.js';
import type { Intake } from './intake.js';
import { Terminal } from './terminal.js';

/** Time for the last lines of a session. */
const FAREWELL_MS = 200;
/** Time in which a client closes its side of a connection that the gateway has ended. */
const MAX_CLOSING_MS = 2_000;
/** OpenSSH asks for all its binds at once. */
const MIN_MAX_PENDING = 1_000;

type Accept = (port?: number) => void;
type Reject = () => void;
interface BindAddress {
  readonly bindAddr: string;
  readonly bindPort: number;
}

/** A client that has logged in. */
export class ClientConnection {
  private readonly terminal: Terminal;
  private readonly binds: ClientBinds;
  private readonly usage: CredentialUsage;
  private readonly idle: NodeJS.Timeout;
  private readonly hasRoom: boolean;
  private pending = 0;
  private isCutOff = false;

  constructor(
    private readonly context: GatewayContext,
    private readonly connection: Connection,
    private readonly intake: Intake,
    private readonly identity: IdentifiedKey,
    private readonly limits: Limits,
  ) {
    const { socket } = intake;
    const source = socket.remoteAddress ?? '';
    this.usage = limits.usageOf(this.credentialId);
    this.terminal = new Terminal(
      () => this.binds.isEmpty,
      () => this.end(),
    );
    const channels = new ClientChannels(connection, socket, this.usage, context, this.terminal);
    const client = { identity, source };
    this.binds = new ClientBinds(context, client, this.usage, channels, this.terminal, () => this.endSoon());
    this.idle = setInterval(() => this.endIfIdle(), context.settings.idleMs).unref();
    this.hasRoom = this.usage.take('connections');
    this.serve();
    this.enter();
  }

  /** A key with several credentials counts as its oldest one. */
  private get credentialId(): string {
    return this.identity.credentials[0]?.credential_id ?? this.identity.fingerprint;
  }

  /** What has no listener here, such as -L and -D, agents and X11, the library refuses. */
  private serve(): void {
    this.connection.on('session', (accept, reject) => this.terminal.open(accept, reject));
    this.connection.on('request', (accept, reject, name, info) => {
      if (name === 'tcpip-forward' && 'bindAddr' in info) this.takeBind(accept, reject, info);
      else if (name === 'cancel-tcpip-forward' && 'bindAddr' in info) {
        if (this.binds.cancel(info.bindAddr, info.bindPort)) accept?.();
        else reject?.();
      } else reject?.();
    });
  }

  private enter(): void {
    this.connection.once('close', () => this.close());
    if (this.hasRoom) return;
    this.terminal.say(`refused: ${this.tooMany().message}`);
    this.context.metrics.refusedBinds.inc({ reason: 'too_many' });
    this.endSoon();
  }

  private tooMany(): BindRefused {
    const { maxConnections } = this.context.settings;
    return new BindRefused('too_many', `the credential has ${maxConnections} connections, which is the maximum`);
  }

  /** Each request waits for the service and holds memory, and a client can send them without reading an answer. */
  private takeBind(accept: Accept | undefined, reject: Reject | undefined, at: BindAddress): void {
    if (this.isCutOff) return;
    const max = Math.max(MIN_MAX_PENDING, this.context.settings.maxBinds);
    if (this.pending < max) void this.bind(accept, reject, at);
    else this.cutOff(`refused: the connection has ${max} requests without an answer, which is the maximum`);
  }

  /** Reads no further, and says why. */
  private cutOff(reason: string): void {
    this.isCutOff = true;
    this.intake.stop();
    this.terminal.say(reason);
    this.context.log.line('warn', { credential: this.credentialId }, `ended a connection: ${reason}`);
    this.endSoon();
  }

  private async bind(
    accept: Accept | undefined,
    reject: Reject | undefined,
    { bindAddr, bindPort }: BindAddress,
  ): Promise<void> {
    this.pending += 1;
    try {
      if (!this.hasRoom) throw this.tooMany();
      accept?.(await this.binds.open(bindAddr, bindPort));
    } catch (error) {
      if (!(error instanceof BindRefused)) throw error;
      const fields = { bind: `${bindAddr}:${bindPort}`, reason: error.reason };
      this.context.refusals.line(this.credentialId, fields, `refused a bind: ${error.message}`);
      reject?.();
    } finally {
      this.pending -= 1;
    }
  }

  private endIfIdle(): void {
    if (!this.binds.isEmpty) return;
    this.terminal.say('closed: the client has no bind');
    this.endSoon();
  }

  private endSoon(): void {
    setTimeout(() => this.end(), FAREWELL_MS).unref();
  }

  /** A client that kept its side open would keep its memory and its binds, past every limit. */
  private end(): void {
    this.connection.end();
    setTimeout(() => this.intake.socket.destroy(), MAX_CLOSING_MS).unref();
  }

  private close(): void {
    clearInterval(this.idle);
    this.binds.close();
    if (this.hasRoom) this.usage.release('connections');
    this.limits.forgetUnused(this.credentialId);
  }
}
