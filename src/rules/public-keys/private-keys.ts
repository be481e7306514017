/**
 * Finds private keys in a text, also in base64, base64url and hex, and also if blanks or other signs cut these. It looks
 * for the structure of a key, so no name or comment is taken for one. Its work is linear in the text.
 */

/** Words of files with private keys. `PRIVATE KEY` is in PEM, OpenSSH's form, ssh.com's and that of SSH 1. */
const MARKS = [
  'PRIVATE KEY',
  'PuTTY-User-Key-File-',
  'Private-Lines:',
  'Private-MAC:',
  'Private-Key:',
  'Private-key-format:',
  'AGE-SECRET-KEY-',
  'age-secret-key-',
] as const;

/** In DER: the length of what follows. */
const LENGTH = String.raw`(?:[\0-\x80]|\x81[^]|\x82[^]{2})`;
const SEQUENCE = `\x30${LENGTH}`;
const VERSION = String.raw`\x02\x01[\0\x01]`;
/** What private keys begin with, where one character is one byte. */
const BEGINNINGS = new RegExp(
  [
    String.raw`openssh-key-v1\0`,
    // ssh.com: its magic number, the length of all and the type of the key
    String.raw`\x3f\x6f\xf9\xeb\0\0[^]{2}\0\0\0`,
    // PKCS#1 and DSA: a version and a large number
    String.raw`${SEQUENCE}${VERSION}\x02(?:[\x14-\x7f]|\x81[^]|\x82[^]{2})`,
    // SEC 1: a version and a number
    String.raw`${SEQUENCE}\x02\x01\x01\x04[\x14-\x42]`,
    // PKCS#8 with a passphrase, also inside PKCS#12: an algorithm of PKCS#5 or PKCS#12
    String.raw`${SEQUENCE}${SEQUENCE}\x06[\x09\x0a]\x2a\x86\x48\x86\xf7\x0d\x01(?:\x05|\x0c\x01)`,
  ].join('|'),
);
/** PKCS#8: a version and an algorithm, then a string of bytes. A certificate and parameters of a curve have no string there. */
const PKCS8 = new RegExp(String.raw`${SEQUENCE}${VERSION}\x30(?:([\x05-\x7f])|\x81([^])|\x82([^]{2}))(?=\x06)`, 'g');
const OCTET_STRING = '\x04';

/** JWK and XML, without their blanks. JSON in JSON has backslashes in front of its quotes. */
const FIELDS = /\\{0,3}["']d\\{0,3}["']:\\{0,3}["'][\w-]{40}|(?:<|&lt;)(?:\w{1,16}:)?[DX](?:>|&gt;)[A-Za-z0-9+/]{20}/;

/** A private key may be in base64 twice, and in a file that has base64 itself. */
const MAX_DEPTH = 3;
/** Other bytes have no such run, so there is nothing to decode again. */
const ENCODED = /[\w+/=\s:,-]{40}/;

export function holdsPrivateKey(text: string, depth = MAX_DEPTH): boolean {
  if (isPrivateKey(text)) return true;
  if (depth === 0 || !ENCODED.test(text)) return false;
  const base64 = text.replace(/\\[nrt]|[^\w+/-]+/g, '');
  const hex = text.replace(/0x|[^0-9A-Fa-f]+/gi, '');
  // What begins at any character is whole in one of four readings of base64, or in one of two of hex.
  const readings = [0, 1, 2, 3].map((first) => Buffer.from(base64.slice(first), 'base64'));
  readings.push(Buffer.from(hex, 'hex'), Buffer.from(hex.slice(1), 'hex'));
  return readings.some((bytes) => holdsPrivateKey(bytes.toString('latin1'), depth - 1));
}

function isPrivateKey(text: string): boolean {
  // In UTF-16 each letter has a zero byte beside it.
  const solid = text.replace(/[\s\0]+/g, '');
  if (MARKS.some((mark) => text.includes(mark)) || solid.includes('PRIVATEKEY-----')) return true;
  return (
    FIELDS.test(solid) || BEGINNINGS.test(text) || [...text.matchAll(PKCS8)].some((found) => hasString(text, found))
  );
}

/** Whether a string of bytes comes after the algorithm, or the text ends before. */
function hasString(text: string, { 0: found, 1: short, 2: long, 3: longer, index }: RegExpExecArray): boolean {
  const length = Buffer.from(short ?? long ?? longer ?? '', 'latin1');
  const next = text[index + found.length + length.readUIntBE(0, length.length)];
  return next === undefined || next === OCTET_STRING;
}
