import { LRUCache } from 'lru-cache';
import { compileNetworks, contains, type Network, parseSource } from '../../../rules/index.js';

/** The size of the cache in networks: some 5 MB. A key has at most 10,000. */
const MAX_CACHED_NETWORKS = 30_000;

/** Whether tunnels come from where credentials may be used. Compiled networks are cached by their text. */
export class SourceCheck {
  private readonly compiled = new LRUCache<string, readonly Network[]>({
    maxSize: MAX_CACHED_NETWORKS,
    sizeCalculation: (networks) => networks.length,
  });

  /** The grants, each with whether it may be used from `source`. Without a restriction it may be used from anywhere. */
  withSourceChecks<Grant extends { readonly sources: string | null }>(
    grants: readonly Grant[],
    source: string | undefined,
  ): (Grant & { readonly isSourceAllowed: boolean })[] {
    const isRestricted = grants.some(({ sources }) => sources !== null);
    const address = isRestricted ? parseSource(source) : undefined;
    return grants.map((grant) => {
      const isIncluded = (sources: string) => address !== undefined && contains(this.networksOf(sources), address);
      return { ...grant, isSourceAllowed: grant.sources === null || isIncluded(grant.sources) };
    });
  }

  private networksOf(sources: string): readonly Network[] {
    const cached = this.compiled.get(sources);
    if (cached !== undefined) return cached;
    const networks = compileNetworks(sources);
    this.compiled.set(sources, networks);
    return networks;
  }
}
