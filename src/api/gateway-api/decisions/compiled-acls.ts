import { LRUCache } from 'lru-cache';
import { type CompiledAcl, compile } from '../../../rules/index.js';

/** The size of the cache in rules, including the overhead of each ACL: some 55 MB. */
const MAX_CACHED_RULES = 150_000;
/** The fixed cost of an ACL's maps, in rules. */
const OVERHEAD_RULES = 5;
/** Compiled in one turn of the event loop, which blocks other requests for up to 10 ms. No ACL has more. */
const MAX_RULES_PER_TURN = 1000;

/**
 * A cache of compiled ACLs by the SHA-256 of their rules, so that equal ACLs share an entry and no edit of a row can make
 * it wrong. Every request reads the rows themselves. The least recently used ACLs are evicted.
 */
export class CompiledAcls {
  private readonly cached: LRUCache<string, CompiledAcl>;
  private rulesInTurn = 0;

  constructor(maxRules = MAX_CACHED_RULES) {
    this.cached = new LRUCache({ maxSize: maxRules, sizeCalculation: sizeOf });
  }

  /** The size of what is cached, in rules. */
  get size(): number {
    return this.cached.calculatedSize;
  }

  get(digest: string): CompiledAcl | undefined {
    return this.cached.get(digest);
  }

  /** Compiles now; undefined if this turn of the event loop has compiled enough. */
  addAtOnce(digest: string, rules: readonly string[]): CompiledAcl | undefined {
    return this.hasTimeFor(rules) ? this.add(digest, rules) : undefined;
  }

  /** Compiles in a turn of the event loop that has time for it, so that other requests do not wait for many rules. */
  async addInTurn(digest: string, rules: readonly string[]): Promise<CompiledAcl> {
    while (!this.hasTimeFor(rules)) await new Promise((resolve) => setImmediate(resolve));
    // Another request for the same rules may have compiled them meanwhile.
    return this.get(digest) ?? this.add(digest, rules);
  }

  private hasTimeFor(rules: readonly string[]): boolean {
    return this.rulesInTurn === 0 || this.rulesInTurn + rules.length <= MAX_RULES_PER_TURN;
  }

  private add(digest: string, rules: readonly string[]): CompiledAcl {
    const acl = compile(rules);
    this.countInTurn(acl);
    this.cached.set(digest, acl);
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
}

const sizeOf = ({ rules }: CompiledAcl): number => rules.length + OVERHEAD_RULES;
