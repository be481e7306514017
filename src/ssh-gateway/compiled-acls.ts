import { type CompiledAcl, compile } from '../bind-rules/acl.js';

/** Rules kept at once, counting what an ACL of few rules costs besides: some 55 MB. */
export const MAX_KEPT_RULES = 150_000;
/** What the maps of an ACL take however few its rules are, in rules. */
const OVERHEAD_RULES = 5;
/** Compiled in one turn of the event loop: ten milliseconds at worst, in which everyone else waits. No ACL has more. */
const RULES_OF_A_TURN = 1000;

/**
 * The row that rules stand in. Its version alone does not stand for them: a row that was edited by hand, rebuilt or restored
 * has other rules under the same version. `rowVersion` is the transaction that wrote the row (xmin).
 */
export interface StoredAcl {
  readonly accountId: string;
  readonly credentialId: string;
  readonly version: number;
  readonly rowVersion: string;
}

/** Names the row as it was written, for maps. */
export const keyOf = ({ accountId, credentialId, version, rowVersion }: StoredAcl): string =>
  `${accountId} ${credentialId} ${version} ${rowVersion}`;

/**
 * ACLs ready for `permits`, by the row they were made of, as it was written then. Which rows there are is read anew for every
 * question. Forgets what was not used for the longest time.
 */
export class CompiledAcls {
  private readonly kept = new Map<string, CompiledAcl>();
  private keptRules = 0;
  private rulesOfTurn = 0;

  constructor(private readonly maxRules = MAX_KEPT_RULES) {}

  /** How much is kept, in rules. */
  get size(): number {
    return this.keptRules;
  }

  get(stored: StoredAcl): CompiledAcl | undefined {
    const key = keyOf(stored);
    const acl = this.kept.get(key);
    if (acl === undefined) return undefined;
    // Last in the map is last to be forgotten.
    this.kept.delete(key);
    this.kept.set(key, acl);
    return acl;
  }

  /** Compiles now, unless enough was compiled in this turn of the event loop. */
  addAtOnce(stored: StoredAcl, rules: readonly string[]): CompiledAcl | undefined {
    return this.hasTimeFor(rules) ? this.add(stored, rules) : undefined;
  }

  /** Compiles when it is its turn: a heap of rules must not keep other questions waiting. */
  async addInTurn(stored: StoredAcl, rules: readonly string[]): Promise<CompiledAcl> {
    while (!this.hasTimeFor(rules)) await new Promise((resolve) => setImmediate(resolve));
    // Meanwhile another question about the same key may have done it.
    return this.get(stored) ?? this.add(stored, rules);
  }

  private hasTimeFor(rules: readonly string[]): boolean {
    return this.rulesOfTurn === 0 || this.rulesOfTurn + rules.length <= RULES_OF_A_TURN;
  }

  private add(stored: StoredAcl, rules: readonly string[]): CompiledAcl {
    const acl = compile(rules);
    this.countInTurn(acl);
    this.forget(keyOf(stored));
    this.kept.set(keyOf(stored), acl);
    this.keptRules += sizeOf(acl);
    for (const oldest of this.kept.keys()) {
      if (this.keptRules <= this.maxRules) break;
      this.forget(oldest);
    }
    return acl;
  }

  private countInTurn(acl: CompiledAcl): void {
    if (this.rulesOfTurn === 0) {
      setImmediate(() => {
        this.rulesOfTurn = 0;
      });
    }
    this.rulesOfTurn += sizeOf(acl);
  }

  private forget(key: string): void {
    const acl = this.kept.get(key);
    if (acl === undefined) return;
    this.kept.delete(key);
    this.keptRules -= sizeOf(acl);
  }
}

const sizeOf = ({ rules }: CompiledAcl): number => rules.length + OVERHEAD_RULES;
