import { parseAddress } from '../../ip-rules/address.js';

const SHARE = 0.1;
const MIN_SHARE = 5;
/** A customer gets at least a whole /64. */
const HOST_BITS = 64n;

/** The places for connections that have not logged in. One source has a tenth of them, so that it cannot take them all. */
export class Strangers {
  private readonly counts = new Map<string, number>();
  private count = 0;
  private readonly share: number;

  constructor(private readonly max: number) {
    this.share = Math.max(MIN_SHARE, Math.floor(max * SHARE));
  }

  /** Returns what gives the place back; undefined if there is none. */
  take(address: string): (() => void) | undefined {
    const source = networkOf(address);
    const ofSource = this.counts.get(source) ?? 0;
    if (this.count >= this.max || ofSource >= this.share) return undefined;
    this.add(source, 1);
    let isTaken = true;
    return () => {
      if (isTaken) this.add(source, -1);
      isTaken = false;
    };
  }

  private add(source: string, change: number): void {
    this.count += change;
    const count = (this.counts.get(source) ?? 0) + change;
    if (count === 0) this.counts.delete(source);
    else this.counts.set(source, count);
  }
}

/** The address itself for IPv4, its /64 for IPv6. */
function networkOf(text: string): string {
  const address = parseAddress(text.replace(/%.*/, ''));
  if (address === undefined) return 'unknown';
  return address.bits === 32 ? `${address.value}` : `${address.value >> HOST_BITS}::`;
}
