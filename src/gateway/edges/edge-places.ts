import { Counts } from './counts.js';

/** A connection that has a place. */
interface Holder {
  /** Called when another connection takes its place. */
  drop(): void;
}

interface Account {
  readonly sources: Counts;
  readonly holders: Map<string, Set<Holder>>;
}

/**
 * The limited places for connections to edges, shared so that no account and no source can take them all. When all are
 * taken, a new connection takes a place from the account with the most, if its own account has at least two fewer. The
 * sources within an account share in the same way.
 */
export class EdgePlaces {
  private readonly accounts = new Counts();
  private readonly byAccount = new Map<string, Account>();

  constructor(private readonly max: number) {}

  /** Returns a function that gives the place back; undefined if there is no place. */
  take(accountId: string, source: string, holder: Holder): (() => void) | undefined {
    if (this.accounts.total >= this.max && !this.makeRoom(accountId, source)) return undefined;
    const account = this.byAccount.get(accountId) ?? { sources: new Counts(), holders: new Map() };
    this.byAccount.set(accountId, account);
    const ofSource = account.holders.get(source) ?? new Set();
    account.holders.set(source, ofSource.add(holder));
    this.accounts.add(accountId, 1);
    account.sources.add(source, 1);
    return () => this.leave(accountId, source, holder);
  }

  private leave(accountId: string, source: string, holder: Holder): void {
    const account = this.byAccount.get(accountId);
    const ofSource = account?.holders.get(source);
    if (account === undefined || ofSource?.delete(holder) !== true) return;
    if (ofSource.size === 0) account.holders.delete(source);
    if (account.holders.size === 0) this.byAccount.delete(accountId);
    this.accounts.add(accountId, -1);
    account.sources.add(source, -1);
  }

  private makeRoom(accountId: string, source: string): boolean {
    const largest = this.accounts.largest ?? '';
    if (isSmaller(this.accounts, accountId, largest)) return this.dropOneOf(largest, this.largestSourceOf(largest));
    const own = this.byAccount.get(accountId);
    const ownLargest = this.largestSourceOf(accountId);
    if (own === undefined || !isSmaller(own.sources, source, ownLargest)) return false;
    return this.dropOneOf(accountId, ownLargest);
  }

  private largestSourceOf(accountId: string): string {
    return this.byAccount.get(accountId)?.sources.largest ?? '';
  }

  private dropOneOf(accountId: string, source: string): boolean {
    const [oldest] = this.byAccount.get(accountId)?.holders.get(source) ?? [];
    if (oldest === undefined) return false;
    this.leave(accountId, source, oldest);
    oldest.drop();
    return true;
  }
}

/** By 2 or more: with a smaller difference two accounts would take the same place from each other for ever. */
const isSmaller = (counts: Counts, name: string, other: string): boolean => counts.of(name) + 2 <= counts.of(other);
