import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * Printable ASCII that a header can carry, long enough to resist guessing. It holds no comma, which divides the list,
 * and no quote and no backslash, which would end or change a quoted text in the gateway's config
 * (docs/sshd-gateway.md).
 */
const TOKEN = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]{20,255}$/;

/**
 * Parses a comma-separated list: with several tokens an operator can rotate them gateway by gateway. Errors quote no
 * token.
 */
export function parseGatewayTokens(text: string): readonly string[] {
  const tokens = text.split(',').map((token) => token.trim());
  if (tokens.every((token) => TOKEN.test(token))) return tokens;
  const expected = 'tokens of 20 to 255 printable ASCII characters, without blanks, " and \\';
  throw new Error(`must be a comma-separated list of ${expected}`);
}

/** The tokens that SSH gateways authenticate with. They belong to the deployment, not to an account. */
export class GatewayTokens {
  private readonly hashes: readonly Buffer[];

  constructor(tokens: readonly string[]) {
    this.hashes = tokens.map(hash);
  }

  /** Takes the same time for every token: all hashes have one length, and all are compared. */
  includes(token: string): boolean {
    const sent = hash(token);
    return this.hashes.map((known) => timingSafeEqual(known, sent)).includes(true);
  }
}

const hash = (token: string): Buffer => createHash('sha256').update(token, 'utf8').digest();
