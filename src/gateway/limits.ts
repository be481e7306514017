import type { GatewaySettings } from './gateway-settings.js';
import { Rate } from './rates.js';
import { EndedVisitors, type GiveWay } from './tunnels/ended-visitors.js';

export type Counted = 'connections' | 'binds' | 'channels';
type Maximums = Readonly<Record<Counted, number>>;

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

const NOUNS: Readonly<Record<Counted, string>> = {
  connections: 'connections',
  binds: 'binds',
  channels: 'connections through its tunnels',
};

/** What a credential or an account uses of this gateway, and the most that it may use. */
class Usage {
  private readonly counts = { connections: 0, binds: 0, channels: 0 };
  readonly endedVisitors = new EndedVisitors();

  constructor(
    private readonly who: string,
    private readonly max: Maximums,
  ) {}

  get isUnused(): boolean {
    return Object.values(this.counts).every((count) => count === 0);
  }

  /** A sentence if the maximum is reached. A maximum of 0 means no limit. */
  refusal(what: Counted): string | undefined {
    if (this.max[what] === 0 || this.counts[what] < this.max[what]) return undefined;
    return `the ${this.who} has ${this.max[what]} ${NOUNS[what]}, which is the maximum`;
  }

  add(what: Counted, change: 1 | -1): void {
    this.counts[what] += change;
  }
}

interface Client {
  readonly credentialId: string;
  readonly accountId: string;
  readonly source: string;
}

/** Counts what one client uses. The limits hold for all connections of its credential, and of its account. */
export class ClientUsage {
  constructor(
    private readonly client: Client,
    private readonly usages: readonly Usage[],
    private readonly limits: Limits,
  ) {}

  /** A sentence if the client may have no more. Otherwise it has one more, which `release` gives back. */
  take(what: Counted): string | undefined {
    const refusal = this.usages.map((usage) => usage.refusal(what)).find((sentence) => sentence !== undefined);
    if (refusal === undefined) for (const usage of this.usages) usage.add(what, 1);
    else this.limits.forgetUnused(this.client);
    return refusal;
  }

  /** As `take('channels')`. If all are taken, the visitor whose end is the oldest gives way. */
  async takeChannel(): Promise<string | undefined> {
    const full = this.usages.find((usage) => usage.refusal('channels') !== undefined);
    await full?.endedVisitors.displaceOldest();
    return this.take('channels');
  }

  /** A visitor of one of its channels has ended. Returns a function that says that it is gone. */
  visitorEnded(giveWay: GiveWay): () => void {
    const forget = this.usages.map(({ endedVisitors }) => endedVisitors.add(giveWay));
    return () => {
      for (const each of forget) each();
    };
  }

  release(what: Counted): void {
    for (const usage of this.usages) usage.add(what, -1);
    this.limits.forgetUnused(this.client);
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

export class Limits {
  private readonly ofCredentials = new Map<string, Usage>();
  private readonly ofAccounts = new Map<string, Usage>();
  readonly bytes: Rate;
  readonly requests: Rate;
  readonly requestsOfSource: Rate;

  constructor(private readonly settings: GatewaySettings) {
    const { maxBytesPerSecond, maxRequestsPerSecond } = settings;
    this.bytes = new Rate(maxBytesPerSecond, BYTES_BURST_MS);
    this.requests = new Rate(maxRequestsPerSecond, REQUESTS_BURST_MS, MAX_REQUESTS_WAIT_MS);
    const ofSource = SOURCE_FACTOR * maxRequestsPerSecond;
    this.requestsOfSource = new Rate(ofSource, REQUESTS_BURST_MS, MAX_REQUESTS_WAIT_MS);
  }

  usageOf(client: Client): ClientUsage {
    const { maxConnections, maxBinds, maxChannels } = this.settings;
    const { maxAccountConnections, maxAccountBinds, maxAccountChannels } = this.settings;
    const ofCredential = { connections: maxConnections, binds: maxBinds, channels: maxChannels };
    const ofAccount = { connections: maxAccountConnections, binds: maxAccountBinds, channels: maxAccountChannels };
    const usages = [
      getOrMake(this.ofCredentials, client.credentialId, () => new Usage('credential', ofCredential)),
      getOrMake(this.ofAccounts, client.accountId, () => new Usage('account', ofAccount)),
    ];
    return new ClientUsage(client, usages, this);
  }

  forgetUnused({ credentialId, accountId }: Client): void {
    if (this.ofCredentials.get(credentialId)?.isUnused === true) this.ofCredentials.delete(credentialId);
    if (this.ofAccounts.get(accountId)?.isUnused === true) this.ofAccounts.delete(accountId);
  }
}

function getOrMake<Value>(all: Map<string, Value>, key: string, make: () => Value): Value {
  const value = all.get(key) ?? make();
  all.set(key, value);
  return value;
}
