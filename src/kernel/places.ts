import type { Path } from './fair-queue.js';
import { Problem } from './problem.js';

/** `half`: half of what the others of its level leave. A name that holds nothing may take all of that at once. */
type Max = number | 'half';

/** A place that is held. */
export interface Place {
  /** Gives the place back. */
  leave(): void;
  /** The holder waits for an answer or is gone, and nobody can tell which. It keeps its place until another one needs it. */
  ended(): void;
}

interface Holder {
  readonly path: Path;
  readonly sinceMs: number;
  /** Called when another holder takes its place. */
  readonly drop: () => void;
}

/** What one name holds, with all names below it. */
class Held {
  count = 0;
  readonly below = new Map<string, Held>();
  readonly holders = new Set<Holder>();
  /** Those of its holders and of all names below it that have ended, the oldest end first. */
  readonly ended = new Set<Holder>();

  of(name: string): number {
    return this.below.get(name)?.count ?? 0;
  }

  /** The name below it that holds most. */
  get largest(): Held | undefined {
    let found: Held | undefined;
    for (const held of this.below.values()) if (held.count > (found?.count ?? 0)) found = held;
    return found;
  }

  get oldestEnded(): readonly Holder[] | undefined {
    const [oldest] = this.ended;
    return oldest && [oldest];
  }

  /** The holders of its largest name, of the largest one below that, and so on. */
  get largestHolders(): readonly Holder[] {
    return this.oldestEnded ?? this.largest?.largestHolders ?? [...this.holders];
  }

  /** The holders of all its largest names that have held since then. */
  heldSince(sinceMs: number): readonly Holder[] {
    const found: Holder[] = [];
    const most = this.largest?.count;
    for (const { count, holders } of this.below.values()) {
      if (count === most) for (const one of holders) if (one.sinceMs <= sinceMs) found.push(one);
    }
    return found;
  }
}

/**
 * Counts what is held across a wait, for all together and for each name. At a maximum the caller refuses, or the largest
 * holder gives way.
 */
export class Places {
  private readonly root = new Held();

  constructor(
    /** By depth: of all together, of one name, of one name below it. Absent: no maximum. */
    private readonly max: readonly Max[],
    /** After this time a holder also gives way to a newcomer whose name holds as many. Absent: it never does. */
    private readonly tenureMs?: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** How many a name holds. Without a name: all together. */
  held(...path: Path): number {
    return this.at(path)?.count ?? 0;
  }

  /** The depth of the narrowest name whose maximum does not allow so many more, 0 for all together. */
  fullAt(path: Path, more = 1): number | undefined {
    let full: number | undefined;
    let [held, above]: [Held | undefined, number] = [this.root, this.root.count];
    let max = Number.POSITIVE_INFINITY;
    for (let depth = 0; depth <= path.length; depth += 1) {
      if (depth > 0) held = held?.below.get(path[depth - 1] ?? '');
      const { count } = held ?? { count: 0 };
      const own = this.max[depth] ?? Number.POSITIVE_INFINITY;
      const left = max - (above - count);
      max = own === 'half' ? left / 2 : Math.min(own, left);
      if (own === 'half' ? count > 0 && count + more > max : count + more > own) full = depth;
      above = count;
    }
    return full;
  }

  /** Counts these as held, whatever the maximum is. */
  take(path: Path, count = 1): void {
    this.change(path, count);
  }

  giveBack(path: Path, count = 1): void {
    this.change(path, -count);
  }

  /** Throws Problem 429 with `own` at a maximum of a name, and 503 with `all` at that of all together. */
  refuseIfFull(path: Path, own: string, all = own): void {
    const full = this.fullAt(path);
    if (full !== undefined) throw full === 0 ? new Problem('overloaded', all) : new Problem('too_many_requests', own);
  }

  /** Returns a function that gives the place back, once. Throws as refuseIfFull does. */
  enter(path: Path, own: string, all = own): () => void {
    this.refuseIfFull(path, own, all);
    this.take(path);
    let isHeld = true;
    return () => {
      if (isHeld) this.giveBack(path);
      isHeld = false;
    };
  }

  /**
   * At a maximum the largest holder gives way, if its name holds at least two more: else two names would take the same
   * place from each other for ever. Within a name the holder that ended first gives way before any other one. Undefined:
   * nobody has to give way.
   */
  hold(path: Path, drop: () => void): Place | undefined {
    const full = this.fullAt(path);
    if (full !== undefined && !this.dropOne(this.thoseWhoGiveWay(path, full))) return undefined;
    const holder = { path, drop, sinceMs: this.now() };
    this.take(path);
    this.at(path)?.holders.add(holder);
    return { leave: () => this.leave(holder), ended: () => this.end(holder) };
  }

  private thoseWhoGiveWay(path: Path, full: number): readonly Holder[] {
    const level = this.at(path.slice(0, full));
    let held = level;
    for (const name of path.slice(full)) {
      if (held?.oldestEnded !== undefined) return held.oldestEnded;
      const largest = held?.largest;
      if (held === undefined || largest === undefined) break;
      if (held.of(name) + 2 <= largest.count) return largest.largestHolders;
      held = held.below.get(name);
    }
    return this.tenureMs === undefined ? [] : (level?.heldSince(this.now() - this.tenureMs) ?? []);
  }

  /** A random one, so that who waits for its end cannot know how long it stays. */
  private dropOne(holders: readonly Holder[]): boolean {
    const one = holders[Math.floor(Math.random() * holders.length)];
    if (one === undefined) return false;
    this.leave(one);
    one.drop();
    return true;
  }

  private leave(holder: Holder): void {
    if (this.at(holder.path)?.holders.delete(holder) !== true) return;
    for (const held of this.along(holder.path)) held.ended.delete(holder);
    this.giveBack(holder.path);
  }

  private end(holder: Holder): void {
    if (this.at(holder.path)?.holders.has(holder) !== true) return;
    for (const held of this.along(holder.path)) held.ended.add(holder);
  }

  /** Without the root: who has ended there loses nothing to another account. */
  private along(path: Path): readonly Held[] {
    return path.flatMap((_, n) => this.at(path.slice(0, n + 1)) ?? []);
  }

  private at(path: Path): Held | undefined {
    let held: Held | undefined = this.root;
    for (const name of path) held = held?.below.get(name);
    return held;
  }

  private change(path: Path, by: number): void {
    let held = this.root;
    held.count += by;
    for (const name of path) {
      const below = held.below.get(name) ?? new Held();
      below.count += by;
      if (below.count > 0) held.below.set(name, below);
      else held.below.delete(name);
      held = below;
    }
  }
}
