import ssh2, { type PublicKeyAuthContext } from 'ssh2';
import { Problem } from '../../problem.js';
import { type PublicKey, parsePublicKey } from '../../public-keys/public-key.js';
import { KEY_TYPES_BUT_RSA } from './algorithms.js';

/** Of an RSA key the name of the hash tells the algorithm; without one it is SHA-1. */
const RSA_HASHES: readonly (string | undefined)[] = ['sha256', 'sha512'];
/** FIDO keys sign in another form, which the library does not check. */
const KEY_TYPES: readonly string[] = [...KEY_TYPES_BUT_RSA, 'ssh-rsa'];

/** The key of a request to log in, if a signature of its algorithm would count. Certificates and SHA-1 do not. */
export function usableKey({ key: { algo, data }, hashAlgo }: PublicKeyAuthContext): PublicKey | undefined {
  if (!KEY_TYPES.includes(algo) || (algo === 'ssh-rsa' && !RSA_HASHES.includes(hashAlgo))) return undefined;
  try {
    return parsePublicKey(`${algo} ${data.toString('base64')}`);
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** Whether this very request has a signature by its key. What earlier requests of the connection named does not count. */
export function isSigned({ key: { algo, data }, blob, signature, hashAlgo }: PublicKeyAuthContext): boolean {
  if (blob === undefined || signature === undefined) return false;
  const key = ssh2.utils.parseKey(`${algo} ${data.toString('base64')}`);
  if (key instanceof Error) return false;
  try {
    return key.verify(blob, signature, hashAlgo) === true;
  } catch {
    return false;
  }
}
