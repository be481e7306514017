import { addressText, parseAddress } from '../../rules/index.js';

/** A customer of a provider gets at least a whole /64 of IPv6 addresses. */
const HOST_BITS = 64n;

/** A connection that has not logged in. */
interface Stranger {
  /** Called when another connection takes its place. */
  drop(): void;
}

/**
 * The limited places for connections that have not logged in. When all are taken, a new connection replaces a random
 * one of the source with the most. So nobody can take all places for long.
 */
export class Strangers {
  private readonly bySource = new Map<string, Stranger[]>();
  private count = 0;

  constructor(
    private readonly max: number,
    private readonly random: () => number = Math.random,
  ) {}

  /** Returns a function that gives the place back. */
  take(source: string, drop: () => void): () => void {
    if (this.count >= this.max) this.dropOne();
    const stranger: Stranger = { drop };
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

  private dropOne(): void {
    let largest: [string, Stranger[]] | undefined;
    for (const entry of this.bySource)
      if (largest === undefined || entry[1].length > largest[1].length) largest = entry;
    if (largest === undefined) return;
    const [source, all] = largest;
    const dropped = all[Math.floor(this.random() * all.length)];
    if (dropped === undefined) return;
    this.leave(source, dropped);
    dropped.drop();
  }
}

/** The IPv4 address itself, or the /64 of an IPv6 address. */
export function sourceOf(text: string): string {
  const address = parseAddress(text.replace(/%.*/, ''));
  if (address === undefined) return 'unknown';
  if (address.bits === 32) return addressText(address);
  return `${addressText({ bits: 128, value: (address.value >> HOST_BITS) << HOST_BITS })}/64`;
}
