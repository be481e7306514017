import { LRUCache } from 'lru-cache';
import { eventLoop } from '../../../kernel/event-loop.js';
import { type CompiledAcl, compile } from '../../../rules/index.js';

/** The size of the cache in rules, including the overhead of each ACL: some 55 MB. */
const MAX_CACHED_RULES = 150_000;
/** The fixed cost of an ACL's maps, in rules. */
const OVERHEAD_RULES = 5;

/**
 * A cache of compiled ACLs by the SHA-256 of their rules, so that equal ACLs share an entry and no edit of a row can make
 * it wrong. Every request reads the rows themselves. The least recently used ACLs are evicted.
 */
export class CompiledAcls {
  private readonly cached: LRUCache<string, CompiledAcl>;

  constructor(maxRules = MAX_CACHED_RULES) {
    this.cached = new LRUCache({
      maxSize: maxRules,
      sizeCalculation: ({ rules }: CompiledAcl) => rules.length + OVERHEAD_RULES,
    });
  }

  /** The size of what is cached, in rules. */
  get size(): number {
    return this.cached.calculatedSize;
  }

  get(digest: string): CompiledAcl | undefined {
    return this.cached.get(digest);
  }

  /** Compiles an ACL in a piece of work of its account. A full one takes some 5 ms. */
  add(digest: string, rules: readonly string[], accountId: string): Promise<CompiledAcl> {
    return eventLoop.run([accountId], () => {
      // Another request for the same rules may have compiled them meanwhile.
      const acl = this.get(digest) ?? compile(rules);
      this.cached.set(digest, acl);
      return acl;
    });
  }
}
