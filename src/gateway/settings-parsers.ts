import { Problem } from '../kernel/problem.js';
import { compileNetwork, type Network, parseCidr } from '../rules/index.js';

/** Reads `key=value` labels, separated by commas, or `all`. */
export function parseProxied(text: string): ReadonlySet<string> | 'all' {
  if (text === 'all') return 'all';
  const labels = text.split(',').map((label) => label.trim());
  if (labels.every((label) => /^[^=]+=[^=]*$/.test(label))) return new Set(labels);
  throw new Error('must be labels such as team=blue, separated by commas, or all');
}

/**
 * Reads addresses and networks, separated by commas. Throws an Error whose message completes the sentence "NAME ...".
 */
export function parseBalancers(text: string): readonly Network[] {
  try {
    return text.split(',').map((entry) => compileNetwork(parseCidr(entry.trim(), 'the entry')));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Error(`must be addresses or networks, separated by commas: ${error.message}`);
  }
}
