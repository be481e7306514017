import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * Printable ASCII that a header can carry, long enough to resist guessing. It holds no comma, which divides a list,
 * and no quote and no backslash, which would end or change a quoted text in the config of a gateway
 * (docs/sshd-gateway.md).
 */
const TOKEN = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]{20,255}$/;

export const isToken = (text: string): boolean => TOKEN.test(text);

/** Errors of the parsers quote no token. */
export function parseToken(text: string): string {
  if (isToken(text)) return text;
  throw new Error('must be 20 to 255 printable ASCII characters, without blanks, commas, " and \\');
}

/** Tokens that belong to the deployment, not to an account: the tokens of SSH gateways, or the token of Prometheus. */
export class DeploymentTokens<Program extends object> {
  private readonly known: readonly { readonly hash: Buffer; readonly program: Program }[];

  constructor(programs: readonly (readonly [token: string, Program])[]) {
    this.known = programs.map(([token, program]) => ({ hash: hash(token), program }));
  }

  /**
   * The program that has this token. Takes the same time for every token: all hashes have one length, and all are
   * compared.
   */
  find(token: string): Program | undefined {
    const sent = hash(token);
    return this.known.filter((known) => timingSafeEqual(known.hash, sent))[0]?.program;
  }
}

const hash = (token: string): Buffer => createHash('sha256').update(token, 'utf8').digest();
