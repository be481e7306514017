import { MAX_RULE_BYTES } from './bind-rule.js';
import type { BindTarget } from './bind-target.js';

/**
 * The rule for just this target, as one writes it in an ACL. Null for a label that only a wider rule permits: it has a
 * `*` that is not all of its key or value, a `=` in its key, or is longer than a rule.
 */
export function ruleFor(target: BindTarget): string | null {
  if (target.kind === 'domain') return `bind:${target.name}`;
  // A gateway may choose a port only by a rule without one.
  if (target.kind === 'address')
    return target.port === 0 ? `bind:${target.host}` : `bind:${target.host}:${target.port}`;
  const { key, value } = target;
  const rule = `bind:${key}=${value}`;
  const isWritten = [key, value].every((part) => part === '*' || !part.includes('*')) && !key.includes('=');
  return isWritten && Buffer.byteLength(rule) <= MAX_RULE_BYTES ? rule : null;
}
