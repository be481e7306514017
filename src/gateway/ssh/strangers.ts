import { addressText, parseAddress } from '../../rules/index.js';

/** A customer of a provider gets at least a whole /64 of IPv6 addresses. */
const HOST_BITS = 64n;

/** A connection that has not logged in. */
interface Stranger {
  readonly since: number;
  /** Called when another connection takes its place. */
  drop(): void;
}

/**
 * How long a connection keeps its place against one of a source that has as many. It is the time of a login while all places
 * log in at once: without it, thousands of clients that come back together would drop each other before any has logged in.
 */
const TENURE_MS = 10_000;

/**
 * The limited places for connections that have not logged in. When all are taken, a new connection replaces a random one of
 * the source with the most, at once if its own source has fewer, and otherwise one that had its time. So nobody can take all
 * places for long.
 */
export class Strangers {
  private readonly bySource = new Map<string, Stranger[]>();
  private count = 0;

  constructor(
    private readonly max: number,
    private readonly random: () => number = Math.random,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Returns a function that gives the place back. Undefined: there is no place. */
  take(source: string, drop: () => void): (() => void) | undefined {
    if (this.count >= this.max && !this.dropOneFor(source)) return undefined;
    const stranger: Stranger = { since: this.now(), drop };
    this.bySource.set(source, [...(this.bySource.get(source) ?? []), stranger]);
    this.count += 1;
    return () => this.leave(source, stranger);
  }

  private leave(source: string, stranger: Stranger): void {
    const all = this.bySource.get(source) ?? [];
    const others = all.filter((one) => one !== stranger);
    if (others.length === all.length) return;
    this.count -= 1;
    if (others.length === 0) this.bySource.delete(source);
    else this.bySource.set(source, others);
  }

  /** False if nobody has to give way to this source. */
  private dropOneFor(newcomer: string): boolean {
    let most = 0;
    for (const { length } of this.bySource.values()) most = Math.max(most, length);
    const hasFewer = (this.bySource.get(newcomer)?.length ?? 0) + 1 < most;
    const before = this.now() - TENURE_MS;
    const droppable = [...this.bySource].flatMap(([source, all]) =>
      all.length < most ? [] : all.filter(({ since }) => hasFewer || since <= before).map((one) => ({ source, one })),
    );
    const { source, one: dropped } = droppable[Math.floor(this.random() * droppable.length)] ?? {};
    if (source === undefined || dropped === undefined) return false;
    this.leave(source, dropped);
    dropped.drop();
    return true;
  }
}

/** The IPv4 address itself, or the /64 of an IPv6 address. */
export function sourceOf(text: string): string {
  const address = parseAddress(text.replace(/%.*/, ''));
  if (address === undefined) return 'unknown';
  if (address.bits === 32) return addressText(address);
  return `${addressText({ bits: 128, value: (address.value >> HOST_BITS) << HOST_BITS })}/64`;
}
