import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inTemporaryDirectory } from './ssh-keygen.mjs';

/** Makes real keys with ssh-keygen and openssl, and broken ones byte by byte. */

const QUIET = { stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' };
const keygen = (...args) => execFileSync('ssh-keygen', args, QUIET);
export const openssl = (args, input) => execFileSync('openssl', args, { ...QUIET, input, stdio: 'pipe' });

/** A new pair: both files as text, and the public half in every form that ssh-keygen and openssl can write. */
export function makePair(type, bits, { passphrase = '', privateForm = 'RFC4716' } = {}) {
  return inTemporaryDirectory((directory) => {
    const file = join(directory, 'id');
    keygen(
      '-q',
      '-t',
      type,
      '-b',
      String(bits),
      '-N',
      passphrase,
      '-C',
      'throw-away@test',
      '-m',
      privateForm,
      '-f',
      file,
    );
    const line = readFileSync(`${file}.pub`, 'utf8');
    const forms = { RFC4716: keygen('-e', '-m', 'RFC4716', '-f', `${file}.pub`) };
    if (type !== 'ed25519') forms.PKCS8 = keygen('-e', '-m', 'PKCS8', '-f', `${file}.pub`);
    if (type === 'rsa') forms.PEM = keygen('-e', '-m', 'PEM', '-f', `${file}.pub`);
    return { ...partsOf(line), line, forms, privateKey: readFileSync(file, 'utf8') };
  });
}

/** A user certificate over a new key of this type. */
export const makeCertificate = (type) =>
  inTemporaryDirectory((directory) => {
    const [ca, id] = [join(directory, 'ca'), join(directory, 'id')];
    keygen('-q', '-t', 'ed25519', '-N', '', '-f', ca);
    keygen('-q', '-t', type, '-N', '', '-C', 'throw-away@test', '-f', id);
    keygen('-q', '-s', ca, '-I', 'throw-away', `${id}.pub`);
    return readFileSync(`${id}-cert.pub`, 'utf8');
  });

/** A public key made by openssl, as PEM SPKI. */
export const makeSpki = (algorithm, ...options) =>
  openssl(
    ['pkey', '-pubout'],
    openssl(['genpkey', '-quiet', '-algorithm', algorithm, ...options.flatMap((o) => ['-pkeyopt', o])]),
  );

const partsOf = (line) => {
  const [type, base64] = line.split(' ');
  return { type, base64, blob: Buffer.from(base64, 'base64') };
};

export const field = (bytes) => {
  const data = Buffer.from(bytes);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  return Buffer.concat([length, data]);
};

export const wire = (...fields) => Buffer.concat(fields.map(field));
export const keyLine = (type, blob) => `${type} ${blob.toString('base64')} throw-away@test\n`;
export const forged = (type, ...fields) => keyLine(type, wire(type, ...fields));

/** The fields of a wire form, the type's name first. */
export function fieldsOf(blob) {
  const fields = [];
  for (let at = 0; at < blob.length; ) {
    const end = at + 4 + blob.readUInt32BE(at);
    fields.push(blob.subarray(at + 4, end));
    at = end;
  }
  return fields;
}

const FACTORS = Array.from({ length: 375 }, (_, i) => BigInt(2 * i + 3));

/** The bytes of a number of exactly that many bits without a small factor: it looks like an RSA modulus. */
export function modulus(bits) {
  for (;;) {
    const random = BigInt(`0x${randomBytes(Math.ceil(bits / 8)).toString('hex')}`);
    const n = (random % 2n ** BigInt(bits - 1)) | (1n << BigInt(bits - 1)) | 1n;
    if (FACTORS.every((factor) => n % factor !== 0n)) return integer(n);
  }
}

/** A positive integer as SSH writes it. */
export function integer(n) {
  const hex = n.toString(16);
  const bytes = Buffer.from(hex.length % 2 ? `0${hex}` : hex, 'hex');
  return bytes[0] < 0x80 ? bytes : Buffer.concat([Buffer.of(0), bytes]);
}

export const numberIn = (bytes) => BigInt(`0x${bytes.toString('hex')}`);

export const pem = (label, der, width = 64) =>
  `-----BEGIN ${label}-----\n${lines(der.toString('base64'), width)}\n-----END ${label}-----\n`;
export const lines = (text, width) => text.match(new RegExp(`.{1,${width}}`, 'g')).join('\n');
export const derOf = (text) =>
  Buffer.from(
    text
      .split('\n')
      .filter((l) => !l.includes('-----'))
      .join(''),
    'base64',
  );
