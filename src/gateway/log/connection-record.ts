import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import type { GatewayContext } from '../gateway-context.js';
import type { Subject } from '../paced-log.js';
import type { SignedKey } from '../protocol/connection.js';
import { Violation } from '../protocol/violation.js';
import type { IdentifiedKey } from '../service-client.js';
import { shortened } from '../ssh/sentences.js';
import { sourceOf } from '../ssh/strangers.js';
import { type SourceFields, sourceFields } from './gateway-lines.js';

/** Why a login is refused, as lines and metrics name it. The sentences complete "refused a login: ...". */
const REFUSALS = {
  unknown_key: 'the service knows no such key',
  bad_signature: 'the signature is not by this key',
  unusable_key: 'the gateway takes no such key or signature',
  service_unavailable: 'the service cannot say whose key it is',
  no_signature: 'the client signed with none of its keys',
  no_key: 'the client offered no key',
  no_request: 'the client did not ask to log in',
  rate: 'its source connects too often',
  full: 'another connection took its place',
} as const;
export type LoginRefusal = keyof typeof REFUSALS;

/** Of a key with more credentials the others are only counted. */
const MAX_NAMED_CREDENTIALS = 5;

interface OfferedKey {
  readonly fingerprint: string;
  readonly key_type: string;
}

/** What the log and the metrics have of one SSH connection: each key that was refused, the login, and the end. */
export class ConnectionRecord {
  readonly source: SourceFields;
  /** The source as limits count it. */
  private readonly network: string;
  private readonly since = performance.now();
  private client: string | undefined;
  private hasAsked = false;
  /** Its answer has a line of its own, also if the client is gone by then. */
  private hasSigned = false;
  private wasRefused = false;
  private key: OfferedKey | undefined;
  private identity: IdentifiedKey | undefined;
  private reason: string | undefined;
  private tunnels = 0;

  constructor(
    private readonly context: Pick<GatewayContext, 'lines' | 'metrics'>,
    private readonly socket: Socket,
    /** Behind a balancer it is not the address of the socket. */
    source: string,
  ) {
    const isDirect = source === socket.remoteAddress;
    this.source = sourceFields({ remoteAddress: source, remotePort: isDirect ? socket.remotePort : undefined });
    this.network = sourceOf(source);
  }

  /** `client`: its identification line. */
  identified(client: string): void {
    this.client = shortened(client);
  }

  /** The client asks to log in, or whether it may with this key. */
  asked(key: SignedKey | undefined): void {
    this.hasAsked = true;
    this.hasSigned ||= key?.signature !== undefined;
    this.key = key === undefined ? this.key : offered(key);
  }

  /** The login with the key that was asked for last, or the connection, is refused. `why`: more than its sentence says. */
  refused(reason: LoginRefusal, why?: string): void {
    this.wasRefused = true;
    this.count(reason);
    const { source, client } = this;
    const key = reason === 'no_key' ? {} : this.key;
    const fields = { event: 'login_refused', ...source, reason, ...key, client };
    const sentence = `refused a login: ${REFUSALS[reason]}${why === undefined ? '' : `: ${why}`}`;
    this.context.lines.refusedLogins.line({ name: this.network }, fields, sentence, 'warn');
  }

  accepted(identity: IdentifiedKey): void {
    this.identity = identity;
    this.context.metrics.logins.inc({ outcome: 'accepted' });
    this.context.metrics.clients.inc();
    const { source, key, client } = this;
    const credentials = namesOf(identity);
    const fields = { event: 'login_accepted', ...source, ...key, account: identity.account_id, credentials, client };
    this.context.lines.logins.line(subjectOf(identity), fields, 'a client logged in');
  }

  bound(): void {
    this.tunnels += 1;
  }

  /** The gateway ends the connection. Of several reasons the first counts. */
  ends(reason: string): void {
    this.reason ??= reason;
  }

  /** Told after the end of the connection, and in the same turn. */
  failed(error: unknown): void {
    this.ends(error instanceof Violation ? error.reason : 'internal');
  }

  get endReason(): string {
    return this.reason ?? 'client';
  }

  closed(): void {
    queueMicrotask(() => (this.identity === undefined ? this.leftWithoutLogin() : this.ended(this.identity)));
  }

  private count(reason: LoginRefusal): void {
    const { logins, refusedConnections } = this.context.metrics;
    if (reason === 'rate' || reason === 'full') refusedConnections.inc({ reason });
    else logins.inc({ outcome: reason });
  }

  private leftWithoutLogin(): void {
    if (this.wasRefused || this.hasSigned || this.client === undefined) return;
    if (!this.hasAsked) this.refused('no_request');
    else this.refused(this.key === undefined ? 'no_key' : 'no_signature');
  }

  private ended(identity: IdentifiedKey): void {
    this.context.metrics.clients.dec();
    const { endReason: reason } = this;
    const fields = {
      ...{ event: 'connection_ended', ...this.source, fingerprint: identity.fingerprint },
      ...{ account: identity.account_id, reason, ms: Math.round(performance.now() - this.since) },
      ...{ bytes_in: this.socket.bytesRead, bytes_out: this.socket.bytesWritten, tunnels: this.tunnels },
    };
    this.context.lines.connections.line(subjectOf(identity), fields, 'a connection of a client ended');
  }
}

const subjectOf = ({ account_id, credentials, fingerprint }: IdentifiedKey): Subject => ({
  name: credentials[0]?.credential_id ?? fingerprint,
  account: account_id,
});

function namesOf({ credentials }: IdentifiedKey): string {
  const names = credentials.slice(0, MAX_NAMED_CREDENTIALS).map(({ credential_id }) => credential_id);
  const others = credentials.length - names.length;
  return others === 0 ? names.join(',') : `${names.join(',')} and ${others} more`;
}

function offered({ keyAlgo, key }: SignedKey): OfferedKey {
  const digest = createHash('sha256').update(key).digest('base64').replace(/=+$/, '');
  return { fingerprint: `SHA256:${digest}`, key_type: shortened(keyAlgo) };
}
