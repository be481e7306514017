import type { BindTarget } from '../../../rules/index.js';

/** The target as a gateway would send it, with canonical hosts. */
export function toRequestForm(target: BindTarget): object {
  if (target.kind === 'domain') return { domain: target.name };
  if (target.kind === 'address') return { address: `${target.host}:${target.port}` };
  return { label: { key: target.key, value: target.value } };
}
