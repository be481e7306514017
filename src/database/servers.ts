import dns from 'node:dns';
import { isIP, type LookupFunction, Socket } from 'node:net';
import { messageOf } from '../error-message.js';
import { refusesEncryption } from './connection/advice.js';
import type { Encryption } from './connection/encryption.js';
import type { HostConfig } from './database-url.js';
import { DatabaseUnreachable, PostgresFailure } from './failure.js';

/** How long a connection is made in the second way to encrypt before the first one is tried again. */
const SECOND_WAY_MS = 300_000;

/**
 * One host of DATABASE_URL. Its name may have several addresses, of which only one is the primary: an address that was
 * not good comes last in the next look-up.
 */
export class Server {
  private addresses = 1;
  private readonly refused = new Set<string>();
  private suspectedAt = Number.NEGATIVE_INFINITY;
  private answeredAt = Number.NEGATIVE_INFINITY;
  private secondWayUntil = Number.NEGATIVE_INFINITY;

  constructor(readonly host: HostConfig) {}

  /** How the next connection is encrypted. */
  get encryption(): Encryption {
    const [first, second] = this.host.encryptions;
    return second !== undefined && performance.now() < this.secondWayUntil ? second : first;
  }

  get waysToEncrypt(): number {
    return this.host.encryptions.length;
  }

  /** Whether another connection is worth a try, because it is encrypted in another way than the failed one. */
  turnsFrom(encryption: Encryption, error: unknown): boolean {
    if (this.waysToEncrypt === 1 || !refusesEncryption(error)) return false;
    const wasFirst = encryption === this.host.encryptions[0];
    this.secondWayUntil = wasFirst ? performance.now() + SECOND_WAY_MS : Number.NEGATIVE_INFINITY;
    return true;
  }

  /** Attempts after which every address was tried. Node itself goes on to the next address if one does not accept. */
  get attempts(): number {
    return this.addresses === 1 ? 1 : this.addresses + 1;
  }

  get isName(): boolean {
    const { host = '' } = this.host.config;
    return host !== '' && !host.startsWith('/') && isIP(host) === 0;
  }

  refuse(address: string | undefined): void {
    if (address === undefined || this.addresses === 1) return;
    if (this.refused.has(address)) this.refused.clear();
    this.refused.add(address);
  }

  answered(): void {
    this.answeredAt = performance.now();
  }

  hasAnsweredSince(time: number): boolean {
    return this.answeredAt >= time;
  }

  /** No connection made before now is used again. */
  suspect(): void {
    this.suspectedAt = performance.now();
  }

  isSuspectedSince(time: number): boolean {
    return this.suspectedAt >= time;
  }

  /** pg passes the port and the name. The socket gets the look-up, so that TLS still checks the name. */
  socket(): Socket {
    const socket = new Socket();
    const connect = socket.connect.bind(socket);
    const connectInTurn = (port: number, host: string): Socket => connect({ port, host, lookup: this.lookup });
    return Object.assign(socket, { connect: connectInTurn });
  }

  private readonly lookup: LookupFunction = (hostname, options, callback) => {
    dns.lookup(hostname, { ...options, all: true }, (error, found) => {
      const isLast = ({ address }: dns.LookupAddress): number => (this.refused.has(address) ? 1 : 0);
      const addresses = [...(found ?? [])].sort((a, b) => isLast(a) - isLast(b));
      this.addresses = Math.max(1, addresses.length);
      const [first] = addresses;
      if (error !== null || options.all === true) callback(error, addresses);
      else callback(null, first?.address ?? '', first?.family);
    });
  };
}

/** The server may accept a connection that is encrypted in another way. */
export class EncryptionRefused extends DatabaseUnreachable {}

/** The hosts of DATABASE_URL. The one that was good last is tried first. */
export class Servers {
  private readonly all: readonly Server[];
  private current = 0;

  constructor(hosts: readonly HostConfig[]) {
    this.all = hosts.map((host) => new Server(host));
  }

  get isSingle(): boolean {
    return this.all.length === 1;
  }

  /** The server that the next connection is made to. */
  get next(): Server {
    const server = this.all[this.current];
    if (server === undefined) throw new RangeError('a database has at least one server');
    return server;
  }

  get attempts(): number {
    return this.all.reduce((sum, { attempts }) => sum + attempts, 0);
  }

  /** The next connection is made to another server, if this one is still first. */
  passOver(server: Server): void {
    if (server === this.next) this.current = (this.current + 1) % this.all.length;
  }

  /** Calls `connect` until it succeeds or has failed at every server, in every way to encrypt. */
  async inTurn<Connection>(connect: () => Promise<Connection>): Promise<Connection> {
    const failures: Failure[] = [];
    const secondWays = this.all.filter(({ waysToEncrypt }) => waysToEncrypt > 1).length;
    for (;;) {
      const { name } = this.next.host;
      try {
        return await connect();
      } catch (error) {
        failures.push({ name, error });
        const turns = failures.filter((failure) => failure.error instanceof EncryptionRefused).length;
        const isLast = failures.length - Math.min(turns, secondWays) >= this.attempts;
        if (isLast || isFinal(error)) throw isFinal(error) ? error : allOf(failures);
      }
    }
  }
}

interface Failure {
  readonly name: string;
  readonly error: unknown;
}

/** An AggregateError has the failures as its cause, for those who judge them one by one. */
function allOf(failures: readonly Failure[]): unknown {
  if (failures.length === 1) return failures[0]?.error;
  const texts = failures.map(({ name, error }) => `${name}: ${messageOf(error)}`);
  const cause = new AggregateError(failures.map(({ error }) => error));
  return new DatabaseUnreachable([...new Set(texts)].join('; '), { cause });
}

/** As in libpq, a wrong password or a missing database ends the search: the next server has the same ones. */
const isFinal = (error: unknown): boolean => {
  const failure = PostgresFailure.of(error);
  return failure.isOfServer && !failure.isConnectionLoss;
};
