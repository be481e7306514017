import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * Printable ASCII that a header can carry, long enough to resist guessing. It holds no comma, which divides a list,
 * and no quote and no backslash, which would end or change a quoted text in the config of a gateway
 * (docs/sshd-gateway.md).
 */
const TOKEN = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]{20,255}$/;

/** Errors of the parsers quote no token. */
export function parseToken(text: string): string {
  if (TOKEN.test(text)) return text;
  throw new Error('must be 20 to 255 printable ASCII characters, without blanks, commas, " and \\');
}

/**
 * Parses a comma-separated list: with several tokens an operator can rotate them gateway by gateway.
 */
export function parseTokens(text: string): readonly string[] {
  const tokens = text.split(',').map((token) => token.trim());
  if (tokens.every((token) => TOKEN.test(token))) return tokens;
  const expected = 'tokens of 20 to 255 printable ASCII characters, without blanks, " and \\';
  throw new Error(`must be a comma-separated list of ${expected}`);
}

/** Tokens that belong to the deployment, not to an account: those of the SSH gateways, or that of Prometheus. */
export class DeploymentTokens {
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
