import { type CompiledAcl, compile } from '../ssh-credentials/acl.js';
import type { Grant } from './decision.js';

/** Rules kept at once, counting what an ACL of few rules costs besides: some 55 MB. */
export const MAX_KEPT_RULES = 150_000;
/** What the maps of an ACL take however few its rules are, in rules. */
const OVERHEAD_RULES = 5;

/**
 * ACLs ready for `permits`, by credential and version: the version stands for the very rules, so that nothing kept here
 * can be out of date. Which version counts is read anew for every question. Forgets what was not used for the longest time.
 */
export class CompiledAcls {
  private readonly kept = new Map<string, CompiledAcl>();
  private keptRules = 0;

  constructor(private readonly maxRules = MAX_KEPT_RULES) {}

  /** How much is kept, in rules. */
  get size(): number {
    return this.keptRules;
  }

  get(grant: Grant): CompiledAcl | undefined {
    const key = keyOf(grant);
    const acl = this.kept.get(key);
    if (acl === undefined) return undefined;
    // Last in the map is last to be forgotten.
    this.kept.delete(key);
    this.kept.set(key, acl);
    return acl;
  }

  /** Compiles the rules that the credential has in this version. */
  add(grant: Grant, rules: readonly string[]): CompiledAcl {
    const acl = compile(rules);
    this.forget(keyOf(grant));
    this.kept.set(keyOf(grant), acl);
    this.keptRules += sizeOf(acl);
    for (const oldest of this.kept.keys()) {
      if (this.keptRules <= this.maxRules) break;
      this.forget(oldest);
    }
    return acl;
  }

  private forget(key: string): void {
    const acl = this.kept.get(key);
    if (acl === undefined) return;
    this.kept.delete(key);
    this.keptRules -= sizeOf(acl);
  }
}

const keyOf = ({ accountId, credentialId, version }: Grant): string => `${accountId} ${credentialId} ${version}`;

const sizeOf = ({ rules }: CompiledAcl): number => rules.length + OVERHEAD_RULES;
