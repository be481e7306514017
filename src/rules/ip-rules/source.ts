import { addressText, parseSource } from './address.js';

/** A customer of a provider gets at least a whole /64 of IPv6 addresses. */
const HOST_BITS = 64n;

/**
 * The name under which limits count a client: its IPv4 address, or the /64 of its IPv6 address. The text may have a port.
 * All other texts have one name.
 */
export function sourceOf(text: string): string {
  const address = parseSource(text.replace(/%[^\]]*/, ''));
  if (address === undefined) return 'unknown';
  if (address.bits === 32) return addressText(address);
  return `${addressText({ bits: 128, value: (address.value >> HOST_BITS) << HOST_BITS })}/64`;
}
