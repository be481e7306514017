import { EndedVisitors } from '../tunnels/ended-visitors.js';
import { Counts } from './counts.js';

/** A connection that has a place. */
interface Holder {
  /** Called when another connection takes its place. */
  drop(): void;
}

interface Place {
  /** Gives the place back. */
  leave(): void;
  /** The client has ended its side, so that its place goes to another one first. */
  visitorEnded(): void;
}

interface Account {
  readonly sources: Counts;
  readonly endedVisitors: EndedVisitors;
  readonly holders: Map<string, Set<Holder>>;
}

/**
 * The limited places for connections to edges, shared so that no account and no source can take them all. When all are
 * taken, a new connection takes a place from the account with the most, if its own account has at least two fewer. Within
 * an account sources share in the same way, but clients that have ended their side lose their places first.
 */
export class EdgePlaces {
  private readonly accounts = new Counts();
  private readonly byAccount = new Map<string, Account>();

  constructor(private readonly max: number) {}

  /** Undefined if there is no place. */
  take(accountId: string, source: string, holder: Holder): Place | undefined {
    if (this.accounts.total >= this.max && !this.makeRoom(accountId, source)) return undefined;
    const account = this.byAccount.get(accountId) ?? newAccount();
    this.byAccount.set(accountId, account);
    const ofSource = account.holders.get(source) ?? new Set();
    account.holders.set(source, ofSource.add(holder));
    this.accounts.add(accountId, 1);
    account.sources.add(source, 1);
    let forget = (): void => undefined;
    const leave = (): void => {
      forget();
      this.leave(accountId, source, holder);
    };
    const giveWay = async (): Promise<void> => {
      leave();
      holder.drop();
    };
    return {
      leave,
      visitorEnded: () => {
        forget = account.endedVisitors.add(giveWay);
      },
    };
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
    if (own?.endedVisitors.displaceOldest() !== undefined) return true;
    const ownLargest = this.largestSourceOf(accountId);
    if (own === undefined || !isSmaller(own.sources, source, ownLargest)) return false;
    return this.dropOneOf(accountId, ownLargest);
  }

  private largestSourceOf(accountId: string): string {
    return this.byAccount.get(accountId)?.sources.largest ?? '';
  }

  private dropOneOf(accountId: string, source: string): boolean {
    const account = this.byAccount.get(accountId);
    if (account?.endedVisitors.displaceOldest() !== undefined) return true;
    const [oldest] = account?.holders.get(source) ?? [];
    if (oldest === undefined) return false;
    this.leave(accountId, source, oldest);
    oldest.drop();
    return true;
  }
}

const newAccount = (): Account => ({
  sources: new Counts(),
  endedVisitors: new EndedVisitors(),
  holders: new Map(),
});

/** By 2 or more: with a smaller difference two accounts would take the same place from each other for ever. */
const isSmaller = (counts: Counts, name: string, other: string): boolean => counts.of(name) + 2 <= counts.of(other);
