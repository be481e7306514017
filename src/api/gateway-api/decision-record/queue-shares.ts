import { parseSource } from '../../../rules/index.js';

/** Who a decision counts for: the account, and where the client of the gateway comes from. */
export interface Party {
  readonly accountId: string;
  readonly source: string | undefined;
}

/** A customer gets at least a whole /64. */
const HOST_BITS = 64n;

/**
 * The places of a queue. After a further request, an account may hold at most as many places as were free before the
 * request, and one source of the account half as many. An account that holds no place may take all free ones.
 */
export class QueueShares {
  private readonly held = new Map<string, number>();
  private total = 0;

  constructor(private readonly max: number) {}

  /** Takes a place for each, or none. */
  take(parties: readonly Party[]): boolean {
    const free = this.max - this.total;
    if (parties.length > free) return false;
    for (const [name, { count, share }] of wantedOf(parties)) {
      const held = this.held.get(name) ?? 0;
      if (held > 0 && held + count > free * share) return false;
    }
    this.change(parties, 1);
    return true;
  }

  giveBack(parties: readonly Party[]): void {
    this.change(parties, -1);
  }

  private change(parties: readonly Party[], by: 1 | -1): void {
    this.total += by * parties.length;
    for (const [name, { count }] of wantedOf(parties)) {
      const held = (this.held.get(name) ?? 0) + by * count;
      if (held === 0) this.held.delete(name);
      else this.held.set(name, held);
    }
  }
}

/**
 * For each account, and for each source of an account: how many places it wants, and which part of the free places it
 * may hold.
 */
function wantedOf(parties: readonly Party[]): ReadonlyMap<string, { readonly count: number; readonly share: number }> {
  const wanted = new Map<string, { count: number; share: number }>();
  const add = (name: string, share: number): void => {
    wanted.set(name, { count: (wanted.get(name)?.count ?? 0) + 1, share });
  };
  for (const { accountId, source } of parties) {
    add(accountId, 1);
    if (source !== undefined) add(`${accountId} ${placeOf(source)}`, 0.5);
  }
  return wanted;
}

/** The address itself for IPv4, its /64 for IPv6. Any other text is a place of its own. */
function placeOf(source: string): string {
  const address = parseSource(source);
  if (address === undefined) return source;
  return address.bits === 32 ? `${address.value}` : `${address.value >> HOST_BITS}::`;
}
