/**
 * The most parts of a policy, which bound its memory: each value of its JSON is one. Expressions count as
 * expression-steps.ts says.
 */
export const MAX_PARTS = 30_000;

/** What there is in all of one policy, counted while it is read. */
export class PolicyCounts {
  expressions = 0;
  /** Characters of expressions. */
  characters = 0;
  /** Networks in actions of `restrict-ips`. */
  networks = 0;

  constructor(public parts: number) {}
}
