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
