import type { TrafficPolicy } from '../../rules/index.js';

/** A traffic policy that a hostport needs. */
export interface NeededPolicy {
  readonly accountId: string;
  /** Stands for its text. Hostports of an account with the same text share one policy. */
  readonly digest: string;
  readonly bytes: number;
  /** Undefined: it is not read yet. */
  readonly policy?: TrafficPolicy;
}

interface Shared {
  bytes: number;
  policy: TrafficPolicy | undefined;
  readonly hostports: Set<string>;
}

interface Account {
  bytes: number;
  /** By digest. */
  readonly policies: Map<string, Shared>;
  /** The bytes that each hostport without room needs. */
  readonly refused: Map<string, number>;
}

/** The traffic policies of hostports, each text once for an account. Those of one account have a limited memory. */
export class PolicyMemory {
  private readonly accounts = new Map<string, Account>();
  private readonly needed = new Map<string, Pick<NeededPolicy, 'accountId' | 'digest'>>();

  constructor(
    private readonly maxBytes: number,
    /** Called with hostports that had no room, when they may have room now. */
    private readonly freed: (hostports: readonly string[]) => void,
  ) {}

  known(accountId: string, digest: string): TrafficPolicy | undefined {
    return this.accounts.get(accountId)?.policies.get(digest)?.policy;
  }

  /** Replaces the policy that the hostport needed before. False if its account has no room for it. */
  set(hostport: string, need: NeededPolicy | undefined): boolean {
    const before = this.needed.get(hostport);
    const bytesBefore = this.bytesOf(before?.accountId);
    if (before !== undefined) this.remove(hostport, before);
    const hasRoom = need === undefined || this.add(hostport, need);
    if (before !== undefined && this.bytesOf(before.accountId) < bytesBefore) this.tellOfRoom(before.accountId);
    return hasRoom;
  }

  private bytesOf(accountId = ''): number {
    return this.accounts.get(accountId)?.bytes ?? 0;
  }

  private add(hostport: string, { accountId, digest, bytes, policy }: NeededPolicy): boolean {
    const account = this.accounts.get(accountId) ?? { bytes: 0, policies: new Map(), refused: new Map() };
    this.accounts.set(accountId, account);
    this.needed.set(hostport, { accountId, digest });
    const shared = account.policies.get(digest) ?? { bytes: 0, policy: undefined, hostports: new Set() };
    const more = Math.max(0, bytes - shared.bytes);
    if (account.bytes + more > this.maxBytes) {
      account.refused.set(hostport, bytes);
      return false;
    }
    account.bytes += more;
    shared.bytes += more;
    shared.policy ??= policy;
    shared.hostports.add(hostport);
    account.policies.set(digest, shared);
    return true;
  }

  private remove(hostport: string, { accountId, digest }: Pick<NeededPolicy, 'accountId' | 'digest'>): void {
    this.needed.delete(hostport);
    const account = this.accounts.get(accountId);
    if (account === undefined) return;
    account.refused.delete(hostport);
    const shared = account.policies.get(digest);
    if (shared?.hostports.delete(hostport) === true && shared.hostports.size === 0) {
      account.policies.delete(digest);
      account.bytes -= shared.bytes;
    }
    if (account.policies.size + account.refused.size === 0) this.accounts.delete(accountId);
  }

  private tellOfRoom(accountId: string): void {
    const { bytes = 0, refused = new Map<string, number>() } = this.accounts.get(accountId) ?? {};
    const fitting = [...refused].filter(([, more]) => bytes + more <= this.maxBytes).map(([hostport]) => hostport);
    if (fitting.length > 0) this.freed(fitting);
  }
}
