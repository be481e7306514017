import { fieldsOf, forged, integer, makePair, makeSpki, modulus, numberIn } from './key-forge.mjs';

/** Well-formed keys that the service refuses because of their numbers, which ssh-keygen hardly checks. */
export const weakKeyCases = () => [...weakRsa(), ...weakEd25519(), ...weakEcdsa(), ...brokenSecurityKeys()];

const E = integer(65_537n);
const line = (what, text, says, why) => ({ what, form: 'line', text, says, ...(why && { why }) });

function weakRsa() {
  const n = modulus(2048);
  const rsa = (what, e, m, says, why) => line(`RSA: ${what}`, forged('ssh-rsa', e, m), says, why);
  const exponents = 'ssh-keygen takes any exponent';
  const moduli = 'ssh-keygen does not look for factors';
  const lenient = 'ssh-keygen corrects the encoding, so that one key has several spellings';
  return [
    ...[0n, 1n, 2n, 4n, 65_536n, 2n ** 32n - 2n].map((e) =>
      rsa(`exponent ${e}`, integer(e), n, e ? 'exponent is even or 1' : 'shortest form', exponents),
    ),
    ...[2n ** 32n, 2n ** 32n + 1n, 2n ** 64n + 13n, numberIn(modulus(2048))].map((e) =>
      rsa(`exponent of ${e.toString(2).length} bits`, integer(e), n, 'the maximum is 32', exponents),
    ),
    ...[64, 512, 768, 1023].map((bits) =>
      rsa(`${bits} bits`, E, modulus(bits), 'the minimum is 2048', 'ssh-keygen reads keys from 1024 bits'),
    ),
    ...[1024, 1536, 2040, 2047].map((bits) =>
      rsa(`${bits} bits`, E, modulus(bits), 'the minimum is 2048', 'ssh-keygen reads keys from 1024 bits'),
    ),
    ...[16_385, 16_392, 20_000, 32_768].map((bits) =>
      rsa(`${bits} bits`, E, modulus(bits), 'the maximum is 16384', 'ssh-keygen reads longer keys'),
    ),
    rsa('an even modulus', E, integer(numberIn(modulus(2060)) * 2n), 'small factor', moduli),
    ...[3n, 5n, 7n, 251n, 257n, 743n, 751n].map((p) =>
      rsa(`a modulus divisible by ${p}`, E, integer(numberIn(modulus(2060)) * p), 'small factor', moduli),
    ),
    rsa('a negative modulus', E, n.subarray(1), 'not positive'),
    rsa('a negative exponent', Buffer.of(0xff, 0xff), n, 'not positive'),
    rsa('a padded modulus', E, Buffer.concat([Buffer.of(0), n]), 'shortest form', lenient),
    rsa('a padded exponent', Buffer.concat([Buffer.of(0), E]), n, 'shortest form', lenient),
    rsa('an empty modulus', E, '', 'not positive'),
    rsa('an empty exponent', '', n, 'not positive', exponents),
    rsa('a modulus of zero', E, Buffer.of(0), 'not positive'),
    rsa('both swapped', n, E, 'the maximum is 32'),
    {
      what: 'RSA: 1024 bits as SPKI',
      form: 'PKCS8',
      text: makeSpki('RSA', 'rsa_keygen_bits:1024'),
      says: 'the minimum is 2048',
      why: 'ssh-keygen reads keys from 1024 bits',
    },
  ];
}

const P25519 = 2n ** 255n - 19n;
const littleEndian = (n, sign = 0) => {
  const bytes = Buffer.from(n.toString(16).padStart(64, '0'), 'hex').reverse();
  bytes[31] |= sign << 7;
  return bytes;
};
const ORDER_8 = [
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
].map((hex) => numberIn(Buffer.from(hex, 'hex').reverse()));

function weakEd25519() {
  const ed = (what, bytes, says, why) => line(`Ed25519: ${what}`, forged('ssh-ed25519', bytes), says, why);
  const unchecked = 'ssh-keygen checks only the length';
  const [, point] = fieldsOf(makePair('ed25519', 256).blob);
  return [
    ...[0n, 1n, P25519 - 1n, ...ORDER_8].flatMap((y) =>
      [0, 1].map((sign) =>
        ed(`low order, y = ${y}, sign ${sign}`, littleEndian(y, sign), 'anyone could sign', unchecked),
      ),
    ),
    ...[0n, 1n, 2n, 10n, 18n].map((above) =>
      ed(`y = p + ${above}`, littleEndian(P25519 + above), 'anyone could sign', unchecked),
    ),
    ed('31 bytes', point.subarray(1), 'of 31 bytes'),
    ed('33 bytes', Buffer.concat([point, Buffer.of(0)]), 'of 33 bytes'),
    ed('64 bytes', Buffer.concat([point, point]), 'of 64 bytes'),
  ];
}

function weakEcdsa() {
  return [256, 384, 521].flatMap((bits) => {
    const [type, curve, point] = fieldsOf(makePair('ecdsa', bits).blob).map((f, i) => (i < 2 ? f.toString() : f));
    const ec =
      (what, ...fields) =>
      (says, why) =>
        line(`${curve}: ${what}`, forged(type, ...fields), says, why);
    const half = (point.length - 1) / 2;
    const compressed = Buffer.concat([Buffer.of(2 + (point.at(-1) & 1)), point.subarray(1, 1 + half)]);
    const hybrid = Buffer.from(point);
    hybrid[0] = 6 + (point.at(-1) & 1);
    const moved = Buffer.from(point);
    moved[moved.length - 1] ^= 1;
    return [
      ec('off the curve', curve, moved)('not on the curve'),
      ec('coordinates of zero', curve, Buffer.concat([Buffer.of(4), Buffer.alloc(2 * half)]))('not on the curve'),
      ec(
        'coordinates above the prime',
        curve,
        Buffer.concat([Buffer.of(4), Buffer.alloc(2 * half, 0xff)]),
      )('not on the curve'),
      ec('compressed', curve, compressed)('compressed or of a wrong length', 'ssh-keygen decompresses points'),
      ec('hybrid', curve, hybrid)('compressed or of a wrong length', 'ssh-keygen reads hybrid points'),
      ec('at infinity', curve, Buffer.of(0))('compressed or of a wrong length'),
      ec('a byte short', curve, point.subarray(0, -1))('compressed or of a wrong length'),
      ec('a byte long', curve, Buffer.concat([point, Buffer.of(0)]))('compressed or of a wrong length'),
      ec('another curve named', bits === 256 ? 'nistp384' : 'nistp256', point)('names another curve'),
      ec('a JavaScript name as curve', 'constructor', point)('names another curve'),
    ];
  });
}

function brokenSecurityKeys() {
  const [, point] = fieldsOf(makePair('ed25519', 256).blob);
  const [, curve, ecPoint] = fieldsOf(makePair('ecdsa', 256).blob);
  const kinds = [
    [
      'sk-ssh-ed25519@openssh.com',
      [point],
      [Buffer.alloc(32)],
      'anyone could sign',
      'ssh-keygen checks only the length',
    ],
    [
      'sk-ecdsa-sha2-nistp256@openssh.com',
      [curve, ecPoint],
      [curve, Buffer.concat([Buffer.of(4), Buffer.alloc(64)])],
      'not on the curve',
    ],
  ];
  return kinds.flatMap(([type, good, bad, says, why]) => [
    line(`${type}: no application`, forged(type, ...good), 'ends in the middle'),
    line(
      `${type}: an empty application`,
      forged(type, ...good, ''),
      'application is empty',
      'ssh-keygen takes any application',
    ),
    line(`${type}: NUL in the application`, forged(type, ...good, 'ssh:\0x'), 'application is empty'),
    line(
      `${type}: ESC in the application`,
      forged(type, ...good, 'ssh:\u001b'),
      'application is empty',
      'ssh-keygen takes any application',
    ),
    line(
      `${type}: an application of 256 bytes`,
      forged(type, ...good, 'a'.repeat(256)),
      'application is empty',
      'ssh-keygen takes any application',
    ),
    line(`${type}: a field too many`, forged(type, ...good, 'ssh:', 'x'), 'bytes after the end'),
    line(`${type}: a bad point`, forged(type, ...bad, 'ssh:'), says, why),
  ]);
}
