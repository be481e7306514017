import { malformed } from '../../kernel/problem.js';
import type { Address } from '../ip-rules/address.js';
import { compileNetwork, type Network, parseCidr } from '../ip-rules/network.js';

/** The most networks of one credential that its tunnels may come from. */
export const MAX_CIDRS = 100;

/**
 * Checks networks and addresses of `field`, and returns them in canonical form, each once. Throws request_malformed.
 */
export function parseCidrs(cidrs: readonly unknown[], field: string): readonly string[] {
  if (cidrs.length === 0) throw malformed(`${field} is empty; send 1 or more networks, or leave the restriction out.`);
  if (cidrs.length > MAX_CIDRS) throw malformed(`${field} has ${cidrs.length} items; the maximum is ${MAX_CIDRS}.`);
  return [...new Set(cidrs.map((text, n) => parseCidr(text, `${field}[${n}]`)))];
}

/** Compiles canonical networks that are joined by commas. */
export const compileNetworks = (cidrs: string): readonly Network[] => cidrs.split(',').map(compileNetwork);

/** Whether an address is in one of the networks. */
export const contains = (networks: readonly Network[], { bits, value }: Address): boolean =>
  networks.some((network) => network.bits === bits && network.value === value >> network.hostBits);
