import type { Path } from '../../kernel/fair-queue.js';
import { type Place, Places } from '../../kernel/places.js';
import { Rate } from '../../kernel/rate.js';
import { sourceOf } from '../../rules/index.js';
import type { GatewaySettings } from '../settings-table.js';

/** After a silence, the bytes that the rate permits in this time may be sent at once. */
const BYTES_BURST_MS = 100;
/** OpenSSH asks for all its binds at once. */
const REQUESTS_BURST_MS = 2_000;
/** The longest time that a client waits because of other clients of its credential or source. */
const MAX_REQUESTS_WAIT_MS = 5_000;
/** Many devices can share an address. */
const SOURCE_FACTOR = 10;
/**
 * How many requests each of them counts as. A login makes the gateway ask the service and check a signature. A key
 * exchange takes a millisecond of CPU time, and OpenSSH needs one only after a gigabyte.
 */
const COSTS = { request: 1, login: 5, 'key exchange': 100 } as const;
export type RequestKind = keyof typeof COSTS;

const NOUNS = {
  connections: 'connections',
  binds: 'binds',
  channels: 'connections through its tunnels',
} as const;
type Counted = keyof typeof NOUNS;

interface Client {
  readonly credentialId: string;
  readonly accountId: string;
  readonly source: string;
}

/** Counts what one client uses. The limits hold for all connections of its credential, and of its account. */
export class ClientUsage {
  private readonly path: Path;

  constructor(
    private readonly client: Client,
    private readonly limits: Limits,
  ) {
    this.path = [client.accountId, client.credentialId];
  }

  /** A sentence if the client may have no more. Otherwise it has one more, which `release` gives back. */
  take(what: 'connections' | 'binds'): string | undefined {
    const refusal = this.limits.refusal(what, this.path);
    if (refusal === undefined) this.limits.places[what].take(this.path);
    return refusal;
  }

  release(what: 'connections' | 'binds'): void {
    this.limits.places[what].giveBack(this.path);
  }

  /**
   * Returns the place of a channel, or a sentence if the client may have no more. At a maximum the visitor that ended first
   * gives way, or one of the source with the most: its `drop` is called.
   */
  takeChannel(visitor: string, drop: () => void): Place | string {
    const path = [...this.path, sourceOf(visitor)];
    return this.limits.places.channels.hold(path, drop) ?? this.limits.refusal('channels', path) ?? 'it has no room';
  }

  /** Counts the bytes. Returns how long to wait after them, in milliseconds. */
  pauseAfterBytes(bytes: number): number {
    return this.limits.bytes.take(this.client.credentialId, bytes);
  }

  /** Counts what the client asked for. Returns how long to wait after it, in milliseconds. */
  pauseAfter(kind: RequestKind): number {
    const { requests, requestsOfSource } = this.limits;
    const { credentialId, source } = this.client;
    return Math.max(requests.take(credentialId, COSTS[kind]), requestsOfSource.take(source, COSTS[kind]));
  }
}

/** What clients may use of this gateway. */
export class Limits {
  readonly bytes: Rate;
  readonly requests: Rate;
  readonly requestsOfSource: Rate;
  /** By account, credential, and for channels by the source of the visitor. */
  readonly places: Readonly<Record<Counted, Places>>;
  private readonly max: Readonly<Record<Counted, readonly number[]>>;

  constructor(settings: GatewaySettings) {
    const { maxBytesPerSecond, maxRequestsPerSecond } = settings;
    this.bytes = new Rate(maxBytesPerSecond, BYTES_BURST_MS);
    this.requests = new Rate(maxRequestsPerSecond, REQUESTS_BURST_MS, MAX_REQUESTS_WAIT_MS);
    const ofSource = SOURCE_FACTOR * maxRequestsPerSecond;
    this.requestsOfSource = new Rate(ofSource, REQUESTS_BURST_MS, MAX_REQUESTS_WAIT_MS);
    this.max = {
      connections: maximumsOf(settings.maxAccountConnections, settings.maxConnections),
      binds: maximumsOf(settings.maxAccountBinds, settings.maxBinds),
      channels: maximumsOf(settings.maxAccountChannels, settings.maxChannels),
    };
    const { connections, binds, channels } = this.max;
    this.places = { connections: new Places(connections), binds: new Places(binds), channels: new Places(channels) };
  }

  /** A sentence if there is no room for one more. */
  refusal(what: Counted, path: Path): string | undefined {
    const full = this.places[what].fullAt(path);
    if (full === undefined) return undefined;
    return `the ${full === 1 ? 'account' : 'credential'} has ${this.max[what][full]} ${NOUNS[what]}, which is the maximum`;
  }
}

/** All together have no maximum. A setting of 0 means none. */
const maximumsOf = (...ofAccountAndCredential: readonly number[]): readonly number[] =>
  [0, ...ofAccountAndCredential].map((max) => (max === 0 ? Number.POSITIVE_INFINITY : max));
