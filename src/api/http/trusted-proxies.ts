import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';

/** Names of address ranges that Fastify accepts. */
const NAMED_RANGES = ['loopback', 'linklocal', 'uniquelocal'];

/**
 * Parses TRUST_PROXY: addresses and CIDR ranges of proxies that may name the caller's address, separated by commas.
 * A hop count is refused: it cannot distinguish the proxy from a client that connects directly, which could then forge
 * any address.
 */
export function parseTrustedProxies(text: string): readonly string[] {
  const proxies = text.split(',').map((proxy) => proxy.trim());
  for (const proxy of proxies) {
    if (!NAMED_RANGES.includes(proxy) && !isRange(proxy)) {
      throw new Error(
        'must be a comma-separated list of addresses and CIDR ranges; a hop count cannot distinguish a proxy from another client',
      );
    }
  }
  return proxies;
}

function isRange(text: string): boolean {
  // A /0 would trust every client, and so let every client choose its address.
  const [, address = '', bits = '1'] = /^([^/%]+)(?:\/([1-9]\d{0,2}))?$/.exec(text) ?? [];
  const version = isIP(address);
  return version !== 0 && Number(bits) <= (version === 4 ? 32 : 128);
}

const ADDRESS_WITH_PORT = /(?<=^|,)\s*(?:([\d.]+)|\[([\da-f:.]+)\])(?::\d{1,5})?\s*(?=,|$)/gi;

/**
 * Some proxies, such as Azure Application Gateway, write `192.0.2.5:51234` or `[2001:db8::1]:51234`. Fastify reads
 * addresses only, so this removes the ports.
 */
export function dropForwardedPorts(headers: IncomingHttpHeaders): void {
  const forwarded = headers['x-forwarded-for'];
  if (typeof forwarded === 'string') headers['x-forwarded-for'] = forwarded.replace(ADDRESS_WITH_PORT, '$1$2');
}

const FORWARDING = /^(forwarded|x-forwarded-.*|x-real-ip|via)$/;

/** Whether a proxy has passed the request on: then its peer is not who asks. */
export const isPassedOn = (headers: IncomingHttpHeaders): boolean =>
  Object.keys(headers).some((name) => FORWARDING.test(name));
