import type { Address } from './address.js';
import { compileNetwork } from './network.js';

/** A rule of an IP policy. `cidr` is in canonical form. */
export interface IpRule {
  readonly id: string;
  readonly cidr: string;
  readonly action: 'allow' | 'deny';
}

/** All addresses of one family, in ascending ranges. One rule, or none, decides about a whole range. */
interface Ranges<Rule> {
  /** The first address of each range, which ends where the next one starts. */
  readonly starts: readonly bigint[];
  readonly rules: readonly (Rule | undefined)[];
}

/** The rules of one policy, prepared for `decidingRule`. */
export type CompiledPolicy<Rule extends IpRule = IpRule> = Readonly<Record<Address['bits'], Ranges<Rule>>>;

/** The addresses of a rule's network, from `start` up to `end`, which is not included. */
interface Span<Rule> {
  readonly start: bigint;
  readonly end: bigint;
  readonly rule: Rule;
}

/** Compiles the rules of a policy, which come oldest first. A policy without rules matches no address. */
export function compilePolicy<Rule extends IpRule>(rules: readonly Rule[]): CompiledPolicy<Rule> {
  const spans: Record<Address['bits'], Span<Rule>[]> = { 32: [], 128: [] };
  for (const rule of rules) {
    const { bits, value, hostBits } = compileNetwork(rule.cidr);
    spans[bits].push({ start: value << hostBits, end: (value + 1n) << hostBits, rule });
  }
  return { 32: rangesOf(spans[32]), 128: rangesOf(spans[128]) };
}

/**
 * The rule that decides about an address. A rule that denies comes before a rule that allows, then the smaller network
 * comes first, then the older rule. Undefined if no rule matches.
 */
export function decidingRule<Rule extends IpRule>(
  policy: CompiledPolicy<Rule>,
  { bits, value }: Address,
): Rule | undefined {
  const { starts, rules } = policy[bits];
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0n) <= value) low = middle + 1;
    else high = middle;
  }
  return rules[low - 1];
}

/** Two networks are disjoint, or one contains the other. So the networks that contain an address form a stack. */
function rangesOf<Rule extends IpRule>(spans: readonly Span<Rule>[]): Ranges<Rule> {
  const starts: bigint[] = [];
  const rules: (Rule | undefined)[] = [];
  const startRange = (start: bigint, rule: Rule | undefined): void => {
    if (starts.at(-1) === start) rules[rules.length - 1] = rule;
    else {
      starts.push(start);
      rules.push(rule);
    }
  };
  /** The networks that contain the current address, each with the rule that decides inside it. */
  const around: Span<Rule>[] = [];
  const leaveUpTo = (address: bigint): void => {
    for (let inner = around.at(-1); inner !== undefined && inner.end <= address; inner = around.at(-1)) {
      around.pop();
      startRange(inner.end, around.at(-1)?.rule);
    }
  };
  for (const { start, end, rule } of outerFirst(spans)) {
    leaveUpTo(start);
    const outer = around.at(-1)?.rule;
    around.push({ start, end, rule: outer?.action === 'deny' && rule.action === 'allow' ? outer : rule });
    startRange(start, around.at(-1)?.rule);
  }
  leaveUpTo(END);
  return { starts, rules };
}

/** Greater than every address of both families. */
const END = 1n << 128n;

/** Of two rules with the same network the younger one comes first, so that the older one decides. */
const outerFirst = <Rule>(spans: readonly Span<Rule>[]): readonly Span<Rule>[] =>
  spans.toReversed().sort((a, b) => compare(a.start, b.start) || compare(b.end, a.end));

const compare = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);
