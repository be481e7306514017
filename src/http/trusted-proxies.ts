import { isIP } from 'node:net';

/** Ranges that Fastify knows by name. */
const NAMED_RANGES = ['loopback', 'linklocal', 'uniquelocal'];

/**
 * A comma-separated list of the proxies that are trusted to tell the caller's address. Never a hop count: it cannot tell the
 * proxy from a caller who reaches us directly, who could then call from any address (Fastify trusts none for that reason).
 */
export function parseTrustedProxies(text: string): readonly string[] {
  const proxies = text.split(',').map((proxy) => proxy.trim());
  for (const proxy of proxies) {
    if (!NAMED_RANGES.includes(proxy) && !isRange(proxy)) {
      throw new Error(
        'must be a comma-separated list of addresses and CIDR ranges; a number of hops cannot tell a proxy from a stranger',
      );
    }
  }
  return proxies;
}

function isRange(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || address.includes('%') || rest.length > 0) return false;
  if (bits === undefined) return true;
  // A /0 would trust everybody, which is to say: let every caller choose an address.
  return /^\d{1,3}$/.test(bits) && Number(bits) >= 1 && Number(bits) <= (version === 4 ? 32 : 128);
}
