/**
 * What OpenSSH of the last ten years offers, without SHA-1 and CBC. Finite-field groups and P-521 are left out, since a
 * stranger can make the gateway compute with them for 5 to 20 ms at no cost. ChaCha20 is left out, since OpenSSH would
 * prefer it, and the library computes it in JavaScript.
 */
export const ALGORITHMS = {
  kex: ['curve25519-sha256', 'curve25519-sha256@libssh.org', 'ecdh-sha2-nistp256'],
  cipher: ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'aes128-ctr', 'aes192-ctr', 'aes256-ctr'],
  hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
  compress: ['none'],
} as const;

/** Types of host keys. RSA is not one of them, since the library would always offer to sign with SHA-1 too. */
export const KEY_TYPES_BUT_RSA: readonly string[] = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
];
