import type { Socket } from 'node:net';
import { fingerprintOf } from '../../kernel/fingerprint.js';
import { omitUndefined } from '../../kernel/omit-undefined.js';
import { sourceOf } from '../../rules/index.js';
import type { GatewayContext } from '../context/gateway-context.js';
import { type SourceFields, sourceFields } from '../log/gateway-lines.js';
import type { Subject } from '../log/rate-limited-log.js';
import { shortened } from '../log/shortened.js';
import type { OfferedKey } from '../protocol/connection.js';
import { Violation } from '../protocol/violation.js';
import type { IdentifiedKey } from '../service-client.js';
import type { OpenSession } from '../sessions/open-sessions.js';

/** Why a login is refused, by the names in log lines and metrics. The texts complete "refused a login: ...". */
const REFUSALS = {
  unknown_key: 'the service does not know the key',
  bad_signature: 'the signature was not made with the key',
  unusable_key: 'the gateway does not accept keys or signatures of this type',
  service_unavailable: 'the service cannot say whose key it is',
  no_signature: 'the client signed with none of its keys',
  no_key: 'the client offered no key',
  too_many_keys: 'the client offered too many keys; let it use -o IdentitiesOnly=yes -i KEY',
  no_request: 'the client did not ask to log in',
  rate: 'its source connects too often',
  full: 'there was no place for it, or another connection took its place',
} as const;
export type LoginRefusal = keyof typeof REFUSALS;

/** If a key has more credentials, the others are only counted. */
const MAX_NAMED_CREDENTIALS = 5;

interface KeyFields {
  readonly fingerprint: string;
  readonly key_type: string;
}

/** Writes log lines and metrics about one SSH connection: each key that was refused, the login, and the end. */
export class ConnectionRecord {
  readonly source: SourceFields;
  /** The source by which limits count: an IPv4 address, or the /64 of an IPv6 address. */
  private readonly network: string;
  private readonly since = performance.now();
  private client: string | undefined;
  private hasAsked = false;
  /** The answer to a signature has its own log line, even if the client is gone by then. */
  private hasSigned = false;
  private wasRefused = false;
  private key: KeyFields | undefined;
  private identity: IdentifiedKey | undefined;
  /** What the service is told of it. Undefined before the login. */
  session: OpenSession | undefined;
  private reason: string | undefined;
  private tunnels = 0;

  constructor(
    private readonly context: Pick<GatewayContext, 'lines' | 'metrics' | 'sessions'>,
    private readonly socket: Socket,
    /** Behind a balancer this is not the address of the socket. */
    source: string,
  ) {
    const isDirect = source === socket.remoteAddress;
    this.source = sourceFields({ remoteAddress: source, remotePort: isDirect ? socket.remotePort : undefined });
    this.network = sourceOf(source);
  }

  /** `client`: the identification line of the client. */
  identified(client: string): void {
    this.client = shortened(client);
  }

  /** The client asks to log in, or asks whether it may sign with this key. */
  asked(key: OfferedKey | undefined): void {
    this.hasAsked = true;
    this.hasSigned ||= key?.signature !== undefined;
    this.key = key === undefined ? this.key : keyFields(key);
  }

  /** The gateway refuses the login with the last key, or the connection. `why`: details for the log line. */
  refused(reason: LoginRefusal, why?: string): void {
    this.wasRefused = true;
    this.count(reason);
    const { source, client } = this;
    const key = reason === 'no_key' || reason === 'too_many_keys' ? {} : this.key;
    const fields = { event: 'login_refused', ...source, reason, ...key, client };
    const sentence = `refused a login: ${REFUSALS[reason]}${why === undefined ? '' : `: ${why}`}`;
    this.context.lines.refusedLogins.line({ name: this.network }, fields, sentence, 'warn');
  }

  accepted(identity: IdentifiedKey): void {
    this.identity = identity;
    this.session = this.opened(identity);
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

  /** One side ends the connection. The first reason counts. */
  ends(reason: string): void {
    this.reason ??= reason;
  }

  /** Called right after the end of the connection, in the same turn of the event loop. */
  failed(error: unknown): void {
    this.ends(error instanceof Violation ? error.reason : 'internal');
  }

  /** A connection that ends without a word of either side is lost. */
  get endReason(): string {
    return this.reason ?? 'lost';
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

  private opened({ account_id, fingerprint, credentials }: IdentifiedKey): OpenSession | undefined {
    const credential_id = credentials[0]?.credential_id;
    if (credential_id === undefined) return undefined;
    const source = this.source.source === '' ? undefined : this.source.source;
    const client = this.client?.replace(/\p{Cc}/gu, '?');
    return this.context.sessions.open({
      ...{ account_id, credential_id, fingerprint },
      ...omitUndefined({ source, client }),
    });
  }

  private ended(identity: IdentifiedKey): void {
    this.context.metrics.clients.dec();
    const { endReason: reason } = this;
    this.session?.ended(reason);
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

function keyFields({ keyAlgo, key }: OfferedKey): KeyFields {
  return { fingerprint: fingerprintOf(key), key_type: shortened(keyAlgo) };
}
