import dns from 'node:dns';
import { isIP, type LookupFunction, Socket } from 'node:net';
import type { ClientConfig } from 'pg';
import { messageOf } from '../error-message.js';
import type { HostConfig } from './database-url.js';
import { DatabaseUnreachable, PostgresFailure } from './failure.js';

/**
 * One host of DATABASE_URL. Its name may have several addresses, of which only one is the primary: an address that was
 * not good comes last in the next look-up.
 */
export class Server {
  private addresses = 1;
  private readonly refused = new Set<string>();
  private suspectedAt = Number.NEGATIVE_INFINITY;
  private answeredAt = Number.NEGATIVE_INFINITY;

  constructor(
    readonly name: string,
    readonly config: ClientConfig,
  ) {}

  /** Attempts after which every address was tried. Node itself goes on to the next address if one does not accept. */
  get attempts(): number {
    return this.addresses === 1 ? 1 : this.addresses + 1;
  }

  get isName(): boolean {
    const { host = '' } = this.config;
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

/** The hosts of DATABASE_URL. The one that was good last is tried first. */
export class Servers {
  private readonly all: readonly Server[];
  private current = 0;

  constructor(hosts: readonly HostConfig[]) {
    this.all = hosts.map(({ name, config }) => new Server(name, config));
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

  /** Calls `connect` until it succeeds or has failed at every server. */
  async inTurn<Connection>(connect: () => Promise<Connection>): Promise<Connection> {
    const failures: string[] = [];
    for (;;) {
      const { name } = this.next;
      try {
        return await connect();
      } catch (error) {
        failures.push(`${name}: ${messageOf(error)}`);
        if (failures.length >= this.attempts || isFinal(error)) throw this.failure(error, failures);
      }
    }
  }

  private failure(error: unknown, failures: readonly string[]): unknown {
    if (isFinal(error) || failures.length === 1) return error;
    return new DatabaseUnreachable([...new Set(failures)].join('; '), { cause: error });
  }
}

/** As in libpq, a wrong password or a missing database ends the search: the next server has the same ones. */
const isFinal = (error: unknown): boolean => {
  const failure = PostgresFailure.of(error);
  return failure.isOfServer && !failure.isConnectionLoss;
};
