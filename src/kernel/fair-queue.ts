/** Names from the widest to the narrowest, such as an account and one of its hostports. */
export type Path = readonly string[];

/** An item that was taken out of a queue. */
export interface Taken<Item> {
  readonly item: Item;
  /** The first name of its path. */
  readonly account: string;
  /** Called once, with the time that the item took. */
  readonly done: (ms: number) => void;
}

interface Entry<Item> {
  readonly item: Item;
  readonly path: Path;
  /** Of all names of the path, from the root on. */
  readonly shares: readonly Share<Item>[];
}

/** The time of a name is remembered while others wait, for this many names of a level. */
const MAX_RESTED = 1_000;

/** What one name has in a queue, with all names below it. */
class Share<Item> {
  /** Items that wait, those of them that are urgent, and items that were taken and are not done. */
  readonly count = { waiting: 0, urgent: 0, taken: 0 };
  readonly urgent = new Set<Entry<Item>>();
  readonly others = new Set<Entry<Item>>();
  private readonly below = new Map<string, Share<Item>>();
  /** The time of names below it that have nothing here now. */
  private readonly rested = new Map<string, number>();
  /** A new name below it begins with this time at least, so that it gets no credit for its absence. */
  private least = 0;

  constructor(public spentMs = 0) {}

  of(name: string): Share<Item> {
    const share = this.below.get(name) ?? new Share<Item>(Math.max(this.least, this.rested.get(name) ?? 0));
    this.rested.delete(name);
    this.below.set(name, share);
    return share;
  }

  /** Of the names below it that have waiting items and may be taken, the one that used least. */
  next(mayTake: (name: string, share: Share<Item>) => boolean): Share<Item> | undefined {
    let found: Share<Item> | undefined;
    for (const [name, share] of this.below) {
      if (share.count.waiting === 0 || (found !== undefined && !usedLess(share, found))) continue;
      if (mayTake(name, share)) found = share;
    }
    this.least = Math.max(this.least, found?.spentMs ?? 0);
    return found;
  }

  /** A name below it has nothing here any more. If none has, nobody is owed anything. */
  rest(name: string, { spentMs }: Share<Item>): void {
    this.below.delete(name);
    this.rested.set(name, spentMs);
    if (this.below.size === 0) this.rested.clear();
    const [oldest] = this.rested.keys();
    if (this.rested.size > MAX_RESTED && oldest !== undefined) this.rested.delete(oldest);
  }
}

/**
 * Who used less time goes first: of the accounts, then of the names below that account, and so on. Within an account an
 * urgent item goes before all others. A new account waits for one item at most of each other account.
 */
export class FairQueue<Item> {
  private readonly root = new Share<Item>();

  /** The number of items that wait. */
  get size(): number {
    return this.root.count.waiting;
  }

  /** Returns a function that takes the item out of the queue, if it still waits there. */
  enter(path: Path, item: Item, isUrgent = false): () => void {
    const shares = [this.root];
    for (const name of path) shares.push((shares.at(-1) ?? this.root).of(name));
    const entry = { item, path, shares };
    const { urgent, others } = shares.at(-1) ?? this.root;
    (isUrgent ? urgent : others).add(entry);
    change(shares, { waiting: 1, urgent: isUrgent ? 1 : 0, taken: 0 });
    return () => {
      if (this.take(entry)) this.leave(entry);
    };
  }

  /** Takes the item that is next. `mayTake`: whether this account may have one now. */
  next(mayTake: (account: string) => boolean = () => true): Taken<Item> | undefined {
    let share = this.root.next(mayTake);
    while (share !== undefined && share.urgent.size + share.others.size === 0) {
      const { urgent } = share.count;
      share = share.next((_, below) => urgent === 0 || below.count.urgent > 0);
    }
    const [entry] = share === undefined || share.urgent.size > 0 ? (share?.urgent ?? []) : share.others;
    if (entry === undefined) return undefined;
    this.take(entry);
    const done = (ms: number): void => {
      for (const one of entry.shares) one.spentMs += ms;
      this.leave(entry);
    };
    return { item: entry.item, account: entry.path[0] ?? '', done };
  }

  /** False if the entry does not wait. */
  private take(entry: Entry<Item>): boolean {
    const { shares } = entry;
    const isUrgent = shares.at(-1)?.urgent.delete(entry) === true;
    if (!isUrgent && shares.at(-1)?.others.delete(entry) !== true) return false;
    change(shares, { waiting: -1, urgent: isUrgent ? -1 : 0, taken: 1 });
    return true;
  }

  private leave({ path, shares }: Entry<Item>): void {
    change(shares, { waiting: 0, urgent: 0, taken: -1 });
    for (let n = path.length; n > 0; n -= 1) {
      const share = shares[n];
      if (share !== undefined && isEmpty(share)) shares[n - 1]?.rest(path[n - 1] ?? '', share);
    }
  }
}

/** What was taken has its time only when it is done. Until then the number of such items decides between equals. */
const usedLess = <Item>(one: Share<Item>, other: Share<Item>): boolean =>
  one.spentMs < other.spentMs || (one.spentMs === other.spentMs && one.count.taken < other.count.taken);

const isEmpty = <Item>({ count }: Share<Item>): boolean => count.waiting + count.taken === 0;

function change<Item>(shares: readonly Share<Item>[], by: Share<Item>['count']): void {
  for (const { count } of shares) {
    count.waiting += by.waiting;
    count.urgent += by.urgent;
    count.taken += by.taken;
  }
}
