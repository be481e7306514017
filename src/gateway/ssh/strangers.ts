import { parseAddress, textOf } from '../../rules/index.js';

/** A customer gets at least a whole /64. */
const HOST_BITS = 64n;

/** A connection that has not logged in. */
interface Stranger {
  /** Called when another one takes its place. */
  drop(): void;
}

/**
 * The places for connections that have not logged in. When they are full, the source with the most of them loses one at
 * random to each newcomer: so nobody can take them all, and waiting ones do not shut others out.
 */
export class Strangers {
  private readonly bySource = new Map<string, Stranger[]>();
  private count = 0;

  constructor(
    private readonly max: number,
    private readonly random: () => number = Math.random,
  ) {}

  /** Returns what gives the place back. */
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

/** The address itself for IPv4, its /64 for IPv6. */
export function sourceOf(text: string): string {
  const address = parseAddress(text.replace(/%.*/, ''));
  if (address === undefined) return 'unknown';
  if (address.bits === 32) return textOf(address);
  return `${textOf({ bits: 128, value: (address.value >> HOST_BITS) << HOST_BITS })}/64`;
}
