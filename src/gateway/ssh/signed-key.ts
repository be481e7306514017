import ssh2 from 'ssh2';
import { Problem } from '../../kernel/problem.js';
import { type PublicKey, parsePublicKey } from '../../rules/index.js';
import type { SignedKey } from '../protocol/connection.js';
import { isSignedBySecurityKey, SECURITY_KEY_TYPES } from '../protocol/security-key-signature.js';
import { KEY_TYPES_BUT_RSA } from './algorithms.js';

/** Of an RSA key the name of the hash tells the algorithm; without one it is SHA-1. */
const RSA_HASHES: readonly (string | undefined)[] = ['sha256', 'sha512'];
const KEY_TYPES: readonly string[] = [...KEY_TYPES_BUT_RSA, ...SECURITY_KEY_TYPES, 'ssh-rsa'];

/** The key of a request to log in, if a signature of its algorithm would count. Certificates and SHA-1 do not. */
export function usableKey({ keyAlgo, key, hashAlgo }: SignedKey): PublicKey | undefined {
  if (!KEY_TYPES.includes(keyAlgo) || (keyAlgo === 'ssh-rsa' && !RSA_HASHES.includes(hashAlgo))) return undefined;
  try {
    return parsePublicKey(`${keyAlgo} ${key.toString('base64')}`);
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** Whether this very request has a signature by its key. What earlier requests of the connection named does not count. */
export function isSigned({ keyAlgo, key, blob, signature, hashAlgo }: SignedKey): boolean {
  if (blob === undefined || signature === undefined) return false;
  if (SECURITY_KEY_TYPES.includes(keyAlgo)) return isSignedBySecurityKey(key, blob, signature);
  const parsed = ssh2.utils.parseKey(`${keyAlgo} ${key.toString('base64')}`);
  if (parsed instanceof Error) return false;
  try {
    return parsed.verify(blob, signature, hashAlgo) === true;
  } catch {
    return false;
  }
}
