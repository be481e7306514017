import { Problem } from '../../../kernel/problem.js';
import { type BindTarget, parseBindTarget, ruleFor } from '../../../rules/index.js';

/** The target as a gateway would send it, with canonical hosts. */
export function toRequestForm(target: BindTarget): object {
  if (target.kind === 'domain') return { domain: target.name };
  if (target.kind === 'address') return { address: `${target.host}:${target.port}` };
  return { label: { key: target.key, value: target.value } };
}

/** The rule for a recorded target. Null also for one that no gateway can ask for, which someone has put into the row. */
export function ruleNeededBy(target: object): string | null {
  try {
    return ruleFor(parseBindTarget(target));
  } catch (error) {
    if (error instanceof Problem) return null;
    throw error;
  }
}
