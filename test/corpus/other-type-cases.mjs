import { createPublicKey, randomBytes } from 'node:crypto';
import {
  forged,
  integer,
  keyLine,
  makeCertificate,
  makePair,
  makeSpki,
  modulus,
  numberIn,
  pem,
  wire,
} from './key-forge.mjs';

/** Types that the service refuses: certificates, DSA, curves without a name in SSH, and texts that are not keys. */
export const otherTypeCases = () => [...certificates(), ...otherTypes()];

const line = (what, text, says, why) => ({ what, form: 'line', text, says, ...(why && { why }) });

function certificates() {
  const says = 'certificate';
  const ssh = ['ed25519', 'ecdsa', 'rsa'].map((type) =>
    line(`a certificate for ${type}`, makeCertificate(type), says, 'ssh-keygen shows the key inside a certificate'),
  );
  const relabelled = keyLine('ssh-ed25519', Buffer.from(makeCertificate('ed25519').split(' ')[1], 'base64'));
  const x509 = pem('CERTIFICATE', randomBytes(300));
  return [
    ...ssh,
    line('a certificate named as a key', relabelled, says),
    { what: 'an X.509 certificate', form: 'PKCS8', text: x509, says },
  ];
}

const ALGORITHM = 'ssh-keygen reads the names of signature algorithms as key types';

function otherTypes() {
  const dsa = makePair('dsa', 1024);
  const weak = 'ssh-keygen still reads DSA, which OpenSSH itself no longer accepts';
  const curve = (name) => makeSpki('EC', `ec_paramgen_curve:${name}`);
  const spki = (what, text, says) => ({ what, form: 'PKCS8', text, says });
  return [
    line('DSA', dsa.line, 'DSA', weak),
    { what: 'DSA as RFC 4716', form: 'RFC4716', text: dsa.forms.RFC4716, says: 'DSA', why: weak },
    { what: 'DSA as SPKI', form: 'PKCS8', text: dsa.forms.PKCS8, says: 'DSA', why: weak },
    line('Ed448', forged('ssh-ed448', randomBytes(57)), 'Ed448'),
    line('curve25519', forged('ssh-curve25519', randomBytes(32)), 'X25519'),
    line(
      'rsa-sha2-256 as a type',
      forged('rsa-sha2-256', integer(65_537n), modulus(2048)),
      'signature algorithm',
      ALGORITHM,
    ),
    line(
      'rsa-sha2-512 as a type',
      forged('rsa-sha2-512', integer(65_537n), modulus(2048)),
      'signature algorithm',
      ALGORITHM,
    ),
    ...['constructor', '__proto__', 'toString', 'ssh-', 'null'].map((type) =>
      line(`the type ${type}`, `${type} ${wire(type, randomBytes(32)).toString('base64')}`, 'not of a known type'),
    ),
    line('an SSH 1 key', `2048 65537 ${numberIn(modulus(2048))} me@test`, 'not of a known type'),
    line('JSON', JSON.stringify(createPublicKey(curve('P-256')).export({ format: 'jwk' })), 'is JSON'),
    line('words', 'please let me in', 'not of a known type'),
    line('a path', '~/.ssh/id_ed25519.pub', 'the path of a file'),
    line('a fingerprint', 'SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU', 'is a fingerprint'),
    spki('X25519', makeSpki('X25519'), 'X25519'),
    spki('X448', makeSpki('X448'), 'X448'),
    spki('Ed448 as SPKI', makeSpki('ED448'), 'Ed448'),
    spki('secp256k1', curve('secp256k1'), 'curve'),
    spki('P-224', curve('P-224'), 'curve'),
    spki('brainpoolP256r1', curve('brainpoolP256r1'), 'curve'),
    spki('RSA-PSS', makeSpki('RSA-PSS', 'rsa_keygen_bits:2048'), 'SSH cannot use'),
    spki('Diffie-Hellman', makeSpki('DH', 'group:modp_2048'), 'SSH cannot use'),
  ];
}
