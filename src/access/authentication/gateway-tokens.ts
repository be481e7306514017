import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * What a header can carry and nobody guesses: printable ASCII without blanks, without the comma that divides the list, and
 * without quote and backslash, which end or change a quoted text in the gateway's own config (docs/sshd-gateway.md).
 */
const TOKEN = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]{20,255}$/;

/** Reads a comma-separated list; several tokens let an operator change them one gateway after another. Quotes none of them. */
export function parseGatewayTokens(text: string): readonly string[] {
  const tokens = text.split(',').map((token) => token.trim());
  if (tokens.every((token) => TOKEN.test(token))) return tokens;
  const expected = 'tokens of 20 to 255 printable ASCII characters, without blanks, " and \\';
  throw new Error(`must be a comma-separated list of ${expected}`);
}

/** The tokens that SSH gateways authenticate with. They belong to the deployment and not to any account. */
export class GatewayTokens {
  private readonly hashes: readonly Buffer[];

  constructor(tokens: readonly string[]) {
    this.hashes = tokens.map(hash);
  }

  /** Takes the same time whatever was sent: hashes are of one length, and all are compared. */
  includes(token: string): boolean {
    const sent = hash(token);
    return this.hashes.map((known) => timingSafeEqual(known, sent)).includes(true);
  }
}

const hash = (token: string): Buffer => createHash('sha256').update(token, 'utf8').digest();
