/**
 * What OpenSSH of the last ten years offers, without SHA-1, CBC and finite-field groups: a stranger asks for a group for
 * nothing, and it costs the gateway up to 20 ms; one with P-521 costs 5. ChaCha20 is left out, since OpenSSH would prefer it, and in JavaScript
 * it is the slowest.
 */
export const ALGORITHMS = {
  kex: ['curve25519-sha256', 'curve25519-sha256@libssh.org', 'ecdh-sha2-nistp256'],
  cipher: ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'aes128-ctr', 'aes192-ctr', 'aes256-ctr'],
  hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
  compress: ['none'],
} as const;

/** Types of host keys: with one of RSA the library would sign with SHA-1 as well, whatever it is told. Users may have RSA keys. */
export const KEY_TYPES_BUT_RSA: readonly string[] = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
];
