import { type CompiledAcl, compile } from '../bind-rules/acl.js';

/** The size of the cache in rules, including the overhead of each ACL: some 55 MB. */
const MAX_CACHED_RULES = 150_000;
/** The fixed cost of an ACL's maps, in rules. */
const OVERHEAD_RULES = 5;
/** Compiled in one turn of the event loop, which blocks other requests for up to 10 ms. No ACL has more. */
const MAX_RULES_PER_TURN = 1000;

/**
 * The row that holds an ACL. The version does not identify the rules: a row that was edited by hand, rebuilt or
 * restored has other rules under the same version. `rowVersion` is the transaction that wrote the row (xmin).
 */
export interface StoredAcl {
  readonly accountId: string;
  readonly credentialId: string;
  readonly version: number;
  readonly rowVersion: string;
}

/** A key for maps: the row, as one transaction wrote it. */
export const keyOf = ({ accountId, credentialId, version, rowVersion }: StoredAcl): string =>
  `${accountId} ${credentialId} ${version} ${rowVersion}`;

/**
 * A cache of compiled ACLs, by the row that they were compiled from. Every request reads the rows themselves. The least
 * recently used ACLs are evicted.
 */
export class CompiledAcls {
  private readonly cached = new Map<string, CompiledAcl>();
  private cachedRules = 0;
  private rulesInTurn = 0;

  constructor(private readonly maxRules = MAX_CACHED_RULES) {}

  /** The size of what is cached, in rules. */
  get size(): number {
    return this.cachedRules;
  }

  get(stored: StoredAcl): CompiledAcl | undefined {
    const key = keyOf(stored);
    const acl = this.cached.get(key);
    if (acl === undefined) return undefined;
    // Move it to the end: eviction starts at the front of the map.
    this.cached.delete(key);
    this.cached.set(key, acl);
    return acl;
  }

  /** Compiles now; undefined if this turn of the event loop has compiled enough. */
  addAtOnce(stored: StoredAcl, rules: readonly string[]): CompiledAcl | undefined {
    return this.hasTimeFor(rules) ? this.add(stored, rules) : undefined;
  }

  /** Compiles in a turn of the event loop that has time for it, so that other requests do not wait for many rules. */
  async addInTurn(stored: StoredAcl, rules: readonly string[]): Promise<CompiledAcl> {
    while (!this.hasTimeFor(rules)) await new Promise((resolve) => setImmediate(resolve));
    // Another request for the same key may have compiled it meanwhile.
    return this.get(stored) ?? this.add(stored, rules);
  }

  private hasTimeFor(rules: readonly string[]): boolean {
    return this.rulesInTurn === 0 || this.rulesInTurn + rules.length <= MAX_RULES_PER_TURN;
  }

  private add(stored: StoredAcl, rules: readonly string[]): CompiledAcl {
    const acl = compile(rules);
    this.countInTurn(acl);
    this.evict(keyOf(stored));
    this.cached.set(keyOf(stored), acl);
    this.cachedRules += sizeOf(acl);
    for (const oldest of this.cached.keys()) {
      if (this.cachedRules <= this.maxRules) break;
      this.evict(oldest);
    }
    return acl;
  }

  private countInTurn(acl: CompiledAcl): void {
    if (this.rulesInTurn === 0) {
      setImmediate(() => {
        this.rulesInTurn = 0;
      });
    }
    this.rulesInTurn += sizeOf(acl);
  }

  private evict(key: string): void {
    const acl = this.cached.get(key);
    if (acl === undefined) return;
    this.cached.delete(key);
    this.cachedRules -= sizeOf(acl);
  }
}

const sizeOf = ({ rules }: CompiledAcl): number => rules.length + OVERHEAD_RULES;
