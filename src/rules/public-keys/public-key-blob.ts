import { ed25519Bits, nistBits } from './public-key-curves.js';
import { rsaBits } from './public-key-rsa.js';
import { type KeyType, keyTypeNamed, refusal } from './public-key-type.js';
import { WireFields } from './public-key-wire.js';

/** Reads and checks all fields of one key type, in order. Returns the size of the key in bits. */
type FieldReader = (fields: WireFields) => number;

const ecdsa =
  (curve: 'nistp256' | 'nistp384' | 'nistp521'): FieldReader =>
  (fields) => {
    if (!fields.next().equals(Buffer.from(curve))) {
      throw refusal(`public_key is an ecdsa-sha2-${curve} key that names another curve inside; make a new key.`);
    }
    return nistBits(curve, fields.next());
  };

const ed25519: FieldReader = (fields) => ed25519Bits(fields.next());

const READERS: Readonly<Record<KeyType, FieldReader>> = {
  'ssh-rsa': (fields) => rsaBits({ exponent: fields.next(), modulus: fields.next() }),
  'ssh-ed25519': ed25519,
  'ecdsa-sha2-nistp256': ecdsa('nistp256'),
  'ecdsa-sha2-nistp384': ecdsa('nistp384'),
  'ecdsa-sha2-nistp521': ecdsa('nistp521'),
  'sk-ssh-ed25519@openssh.com': securityKey(ed25519),
  'sk-ecdsa-sha2-nistp256@openssh.com': securityKey(ecdsa('nistp256')),
};

/**
 * The length of the longest domain name. Security keys have no longer application, and gateways must read what is
 * accepted.
 */
const MAX_APPLICATION_BYTES = 255;

const isControl = (byte: number): boolean => byte < 0x20 || byte === 0x7f;

/**
 * A FIDO key ends with the application that it is bound to, usually `ssh:`. Without one the security key would not
 * sign.
 */
function securityKey(key: FieldReader): FieldReader {
  return (fields) => {
    const bits = key(fields);
    const application = fields.next();
    if (application.length === 0 || application.length > MAX_APPLICATION_BYTES || application.some(isControl)) {
      throw refusal('public_key is a security key whose application is empty, too long or no text; make a new key.');
    }
    return bits;
  };
}

/** Checks the key in a wire form, and returns its type and size. */
export function keyInBlob(blob: Buffer): { readonly type: KeyType; readonly bits: number } {
  const fields = new WireFields(blob);
  const type = keyTypeNamed(fields.next().toString('latin1'));
  const bits = READERS[type](fields);
  fields.end();
  return { type, bits };
}
