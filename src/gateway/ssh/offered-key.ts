import ssh2 from 'ssh2';
import { Problem } from '../../kernel/problem.js';
import { type PublicKey, parsePublicKey } from '../../rules/index.js';
import type { OfferedKey } from '../protocol/connection.js';
import { isSignedBySecurityKey, SECURITY_KEY_TYPES } from '../protocol/security-key-signature.js';
import { KEY_TYPES_BUT_RSA } from './algorithms.js';

/** The hashes that an RSA key may sign with. Without a name the hash is SHA-1. */
const RSA_HASHES: readonly (string | undefined)[] = ['sha256', 'sha512'];
const KEY_TYPES: readonly string[] = [...KEY_TYPES_BUT_RSA, ...SECURITY_KEY_TYPES, 'ssh-rsa'];

/** The key of a request to log in. Undefined if the gateway accepts no such signature: certificates and SHA-1. */
export function usableKey({ keyAlgo, key, hashAlgo }: OfferedKey): PublicKey | undefined {
  if (!KEY_TYPES.includes(keyAlgo) || (keyAlgo === 'ssh-rsa' && !RSA_HASHES.includes(hashAlgo))) return undefined;
  try {
    return parsePublicKey(`${keyAlgo} ${key.toString('base64')}`);
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** Whether this request has a valid signature by its own key. Keys of earlier requests do not count. */
export function isSigned({ keyAlgo, key, blob, signature, hashAlgo }: OfferedKey): boolean {
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
