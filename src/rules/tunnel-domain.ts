import { createHash } from 'node:crypto';
import { baseUrl } from '../kernel/settings/parsers.js';
import { canonicalName, ParseError } from './host-name.js';

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
const LABEL_LENGTH = 12;
const GIVEN_LABEL = /^[a-z2-7]{12}$/;

/** The domain below which each credential has a name of its own. */
export class TunnelDomain {
  /** Canonical. */
  readonly host: string;

  /** `url`: without a path. */
  constructor(readonly url: string) {
    this.host = canonicalName(new URL(url).hostname);
  }

  /** The name that no other credential binds. */
  givenName(credentialId: string): string {
    const hash = createHash('sha256').update(credentialId).digest();
    const bits = [...hash.subarray(0, 8)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
    const letters = Array.from(
      { length: LABEL_LENGTH },
      (_, n) => BASE32[Number.parseInt(bits.slice(5 * n, 5 * n + 5), 2)],
    );
    return `${letters.join('')}.${this.host}`;
  }

  /** The first 60 bits, as hexadecimal digits, of the SHA-256 of the id of the credential. Undefined: not a given name. */
  digitsOf(name: string): string | undefined {
    if (!this.isGiven(name)) return undefined;
    const bits = [...name.slice(0, LABEL_LENGTH)]
      .map((one) => BASE32.indexOf(one).toString(2).padStart(5, '0'))
      .join('');
    return BigInt(`0b${bits}`).toString(16).padStart(15, '0');
  }

  /** Where browsers find a name below it. Undefined for any other name, and for a wildcard. */
  urlOf(name: string): string | undefined {
    if (name.startsWith('*.') || !name.endsWith(`.${this.host}`)) return undefined;
    const { protocol, port } = new URL(this.url);
    return `${protocol}//${name}${port === '' ? '' : `:${port}`}`;
  }

  /** Whether a name has the form of a given name. Each such name is that of one credential at most. */
  isGiven(name: string): boolean {
    return name.endsWith(`.${this.host}`) && GIVEN_LABEL.test(name.slice(0, -this.host.length - 1));
  }

  /** Whether all credentials share a name: the domain itself, a wildcard over it, and wildcards below it. */
  isShared(name: string): boolean {
    if (!name.startsWith('*.')) return name === this.host;
    return this.overlaps(name.slice(2));
  }

  /** Whether a host is the domain itself, above it or below it. */
  overlaps(host: string): boolean {
    return `.${host}`.endsWith(`.${this.host}`) || `.${this.host}`.endsWith(`.${host}`);
  }
}

/** Reads an URL. Throws an Error whose message completes the sentence "TUNNEL_DOMAIN ...". */
export function parseTunnelDomain(value: string): TunnelDomain {
  const url = baseUrl(value);
  if (new URL(url).pathname !== '/') throw new Error('must not have a path');
  try {
    const domain = new TunnelDomain(url);
    if (domain.host.includes('.')) return domain;
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
  }
  throw new Error('must have a domain name of two labels or more');
}
