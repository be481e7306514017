import type { GatewaySettings } from './gateway-settings.js';
import { Rate } from './rates.js';

export type Counted = 'connections' | 'binds' | 'channels';
type Counts = Readonly<Record<Counted, number>>;

/** Bytes that are not sent in this time can be sent at once. */
const BYTES_BURST_MS = 100;
/** OpenSSH asks for all its binds at once. */
const REQUESTS_BURST_MS = 2_000;
/** Nobody waits longer for what other clients of its credential or source have asked. */
const MAX_REQUESTS_WAIT_MS = 5_000;
/** Many devices can share an address. */
const SOURCE_FACTOR = 10;
/**
 * As how many requests it counts. A login takes a question to the service and a signature; the arithmetic of a key exchange
 * takes a millisecond, and OpenSSH begins one after a gigabyte.
 */
const COSTS = { request: 1, login: 5, 'key exchange': 100 } as const;
export type Asked = keyof typeof COSTS;

const NOUNS: Readonly<Record<Counted, string>> = {
  connections: 'connections',
  binds: 'binds',
  channels: 'connections through its tunnels',
};

/** What a credential or an account uses of this gateway. */
class Usage {
  private readonly counts = { connections: 0, binds: 0, channels: 0 };

  constructor(
    private readonly who: string,
    private readonly max: Counts,
  ) {}

  get isUnused(): boolean {
    return Object.values(this.counts).every((count) => count === 0);
  }

  /** A sentence, if there is no room. 0: no limit. */
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

/** What one client may use: the limits of its credential and those of its account hold for all its connections. */
export class ClientUsage {
  constructor(
    private readonly client: Client,
    private readonly usages: readonly Usage[],
    private readonly limits: Limits,
  ) {}

  /** A sentence, if there is no room. Else `release` gives it back. */
  take(what: Counted): string | undefined {
    const refusal = this.usages.map((usage) => usage.refusal(what)).find((sentence) => sentence !== undefined);
    if (refusal === undefined) for (const usage of this.usages) usage.add(what, 1);
    else this.limits.forgetUnused(this.client);
    return refusal;
  }

  release(what: Counted): void {
    for (const usage of this.usages) usage.add(what, -1);
    this.limits.forgetUnused(this.client);
  }

  /** The time to wait after these bytes, in milliseconds. */
  pauseAfterBytes(bytes: number): number {
    return this.limits.bytes.take(this.client.credentialId, bytes);
  }

  /** The time to wait after it, in milliseconds. */
  pauseAfter(what: Asked): number {
    const { requests, requestsOfSource } = this.limits;
    const { credentialId, source } = this.client;
    return Math.max(requests.take(credentialId, COSTS[what]), requestsOfSource.take(source, COSTS[what]));
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
      found(this.ofCredentials, client.credentialId, () => new Usage('credential', ofCredential)),
      found(this.ofAccounts, client.accountId, () => new Usage('account', ofAccount)),
    ];
    return new ClientUsage(client, usages, this);
  }

  forgetUnused({ credentialId, accountId }: Client): void {
    if (this.ofCredentials.get(credentialId)?.isUnused === true) this.ofCredentials.delete(credentialId);
    if (this.ofAccounts.get(accountId)?.isUnused === true) this.ofAccounts.delete(accountId);
  }
}

function found<Value>(all: Map<string, Value>, key: string, make: () => Value): Value {
  const value = all.get(key) ?? make();
  all.set(key, value);
  return value;
}
