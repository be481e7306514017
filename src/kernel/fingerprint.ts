import { hash } from 'node:crypto';

/** The fingerprint of a public key, from its bytes on the wire of SSH, as `ssh-keygen -l` prints it. */
export const fingerprintOf = (blob: Buffer): string => `SHA256:${hash('sha256', blob, 'base64').replace('=', '')}`;

/** The same of a line `ssh-ed25519 AAAA...`, as in a .pub file or known_hosts. Undefined for any other text. */
export function fingerprintOfLine(line: string): string | undefined {
  const [, blob] = /^[a-z0-9@.-]+ +([A-Za-z0-9+/]+={0,2})(\s|$)/.exec(line) ?? [];
  return blob === undefined ? undefined : fingerprintOf(Buffer.from(blob, 'base64'));
}
