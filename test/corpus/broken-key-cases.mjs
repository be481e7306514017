import { createPublicKey, randomBytes } from 'node:crypto';
import {
  derOf,
  field,
  fieldsOf,
  forged,
  integer,
  keyLine,
  lines,
  makeCertificate,
  makePair,
  makeSpki,
  modulus,
  numberIn,
  openssl,
  pem,
  wire,
} from './key-forge.mjs';

/**
 * Keys the service refuses. `says` is a piece of its message; `why` the reason when ssh-keygen accepts the key.
 */
export function brokenKeyCases() {
  const bases = ['ed25519 256', 'ecdsa 256', 'ecdsa 384', 'ecdsa 521', 'rsa 2048'].map((name) => {
    const [type, bits] = name.split(' ');
    return [name, makePair(type, bits)];
  });
  return [
    ...bases.flatMap(([name, pair]) =>
      [...brokenText(pair), ...brokenBlob(pair)].map((c) => ({ ...c, what: `${name}: ${c.what}` })),
    ),
    ...certificates(),
    ...otherTypes(),
    ...brokenArmour(bases),
  ];
}

const line = (what, text, says, why) => ({ what, form: 'line', text, says, ...(why && { why }) });

function brokenText({ type, base64, line: whole }) {
  const other = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBVGEJVQ9Q6pEQBFuzFcnxx7aQdLTXXdOTcNBXNVWLE4 other';
  const key = `${type} ${base64}`;
  return [
    line('options before the key', `restrict ${whole}`, 'options or a host name in front', OPTIONS),
    line(
      'a quoted command before the key',
      `command="ssh-rsa AAAA" ${whole}`,
      'options or a host name in front',
      OPTIONS,
    ),
    line('from= before the key', `from="192.0.2.0/24",no-pty ${whole}`, 'options or a host name in front', OPTIONS),
    line('a known_hosts line', `example.test ${whole}`, 'options or a host name in front', OPTIONS),
    line('two keys', `${whole}${other}\n`, 'more than one key', 'ssh-keygen lists each key of a file'),
    line('two keys, one line', `${key} ${other}`, 'more than one key', 'to ssh-keygen the second key is a comment'),
    line(
      'a lone CR between two keys',
      `${key} a\r${other}`,
      'more than one key',
      'to ssh-keygen the second key is a comment',
    ),
    line('a comment line before the key', `# mine\n${whole}`, 'has 2 lines', 'ssh-keygen skips comment lines'),
    line('a second line of text', `${whole}and more\n`, 'has 2 lines', 'ssh-keygen skips lines it cannot read'),
    line('base64 wrapped', `${type} ${lines(base64, 64)} comment\n`, 'belong on one line'),
    line('the type on its own line', `${type}\n${base64}\n`, 'has 2 lines'),
    line('base64 cut by one character', `${type} ${base64.slice(0, -1)}`, 'base64 that is cut off'),
    line('base64 cut in half', `${type} ${base64.slice(0, 4 * Math.floor(base64.length / 8))}`, 'ends in the middle'),
    line('base64 with a character too many', `${type} ${base64}A`, 'base64 that is cut off'),
    line(
      'base64 with a stray character',
      `${type} ${base64.slice(0, 20)}!${base64.slice(20)}`,
      'base64 that is cut off',
    ),
    line('base64 of the URL kind', `${type} ${base64.slice(0, 20)}-_${base64.slice(22)}`, 'base64 that is cut off'),
    line('no base64', `${type}\n`, 'base64 is missing'),
    line('no type', base64, 'not of a known type'),
    line('a type in capitals', `${type.toUpperCase()} ${base64}`, 'not of a known type'),
    line(
      'a type by its short name',
      `${SHORT_NAMES[type]} ${base64}`,
      'not of a known type',
      'ssh-keygen knows short names',
    ),
    line('another type in front', `${type === 'ssh-rsa' ? 'ssh-ed25519' : 'ssh-rsa'} ${base64}`, 'its base64 holds'),
    line('no-break spaces between', `${type}\u00a0${base64}\u00a0comment`, 'not of a known type'),
    line('NUL in the comment', `${key} a\0b`, 'control character', CONTROL),
    line('ESC in the comment', `${key} \u001b[2Jb`, 'control character', CONTROL),
    line('DEL in the comment', `${key} \u007f`, 'control character', CONTROL),
    line('C1 control in the comment', `${key} \u009b2J`, 'control character', CONTROL),
    line('vertical tab between', `${type}\v${base64}`, 'control character'),
    line('half a surrogate pair', `${key} \ud83d`, 'well-formed Unicode', 'a file in UTF-8 cannot even hold one'),
    line('a byte order mark', `\ufeff${whole}`, 'byte order mark'),
    line('longer than the limit', `${key} ${'x'.repeat(16_384)}`, 'the most is 16384', 'ssh-keygen has no limit'),
  ];
}

const OPTIONS = 'ssh-keygen reads lines of authorized_keys and known_hosts as well';
const CONTROL = 'ssh-keygen takes any byte in a comment';
const SHORT_NAMES = {
  'ssh-rsa': 'RSA',
  'ssh-ed25519': 'ED25519',
  'ecdsa-sha2-nistp256': 'ECDSA',
  'ecdsa-sha2-nistp384': 'ECDSA',
  'ecdsa-sha2-nistp521': 'ECDSA',
};

const EMPTY_SAYS = { 'ssh-rsa': 'not positive', 'ssh-ed25519': 'of 0 bytes' };

function brokenBlob({ type, blob }) {
  const [, ...fields] = fieldsOf(blob);
  const rest = blob.subarray(4 + type.length);
  return [
    line('a byte after the key', keyLine(type, Buffer.concat([blob, Buffer.of(0)])), 'bytes after the end'),
    line('a field after the key', keyLine(type, Buffer.concat([blob, field('x')])), 'bytes after the end'),
    line('the last byte missing', keyLine(type, blob.subarray(0, -1)), 'ends in the middle'),
    line('the last field missing', keyLine(type, wire(type, ...fields.slice(0, -1))), 'ends in the middle'),
    line('no field at all', keyLine(type, wire(type)), 'ends in the middle'),
    line(
      'a field of 4 GiB',
      keyLine(type, Buffer.concat([field(type), Buffer.alloc(4, 0xff), rest])),
      'ends in the middle',
    ),
    line('an unknown type inside', keyLine(type, Buffer.concat([field('ssh-none'), rest])), 'not of a known type'),
    line('a JavaScript name inside', keyLine(type, Buffer.concat([field('constructor'), rest])), 'not of a known type'),
    line(
      'the last field empty',
      keyLine(type, wire(type, ...fields.slice(0, -1), '')),
      EMPTY_SAYS[type] ?? 'of a wrong length',
    ),
    line('base64 of nothing but zeros', keyLine(type, Buffer.alloc(blob.length)), 'not of a known type'),
  ];
}

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
    line('JSON', JSON.stringify(createPublicKey(curve('P-256')).export({ format: 'jwk' })), 'not of a known type'),
    line('words', 'please let me in', 'not of a known type'),
    line('a path', '~/.ssh/id_ed25519.pub', 'not of a known type'),
    line('a fingerprint', 'SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU', 'not of a known type'),
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

function brokenArmour(bases) {
  const [, ed25519] = bases[0];
  const [, ec] = bases[1];
  const [, rsa] = bases.at(-1);
  const cases = (form, text, label) =>
    [
      [
        `${label}: no END line`,
        text.replace(/\n[- ]+END.*/, ''),
        'no END line',
        'ssh-keygen reads RFC 4716 without its END line',
      ],
      [
        `${label}: another END line`,
        text.replace('END ', 'END X'),
        'no END line',
        'ssh-keygen reads RFC 4716 without its END line',
      ],
      [`${label}: twice`, text + text, 'text after its END line', 'ssh-keygen takes the first key'],
      [`${label}: text after`, `${text}me\n`, 'text after its END line', 'ssh-keygen ignores text around the block'],
      [
        `${label}: text before`,
        `me\n${text}`,
        'text before its BEGIN line',
        'ssh-keygen ignores text around the block',
      ],
      [
        `${label}: a blank line`,
        text.replace(/(\n[^:\n]{60,}\n)/, '$1\n'),
        'blank line',
        'ssh-keygen skips blank lines',
      ],
      [`${label}: line breaks lost`, text.replaceAll('\n', ' '), 'its first line'],
      [`${label}: no body`, text.replace(/(KEY ?-+)\n[\s\S]*?(\n-+ ?END)/, '$1$2'), 'base64 that is cut off'],
      [`${label}: a stray character`, text.replace(/\n([^:\n]{60,})\n/, '\n!$1\n'), 'base64 that is cut off'],
    ].map(([what, broken, says, why]) => ({ what, form, text: broken, says, ...(why && { why }) }));
  return [
    ...cases('RFC4716', ed25519.forms.RFC4716, 'RFC 4716'),
    ...cases('PKCS8', ec.forms.PKCS8, 'SPKI'),
    ...cases('PEM', rsa.forms.PEM, 'PKCS#1'),
    ...brokenDer(ec, rsa),
  ];
}

function brokenDer(ec, rsa) {
  const [spki, pkcs1] = [derOf(ec.forms.PKCS8), derOf(rsa.forms.PEM)];
  const unusual = 'unusual encoding';
  const converted = (...args) => openssl(['ec', '-pubin', '-pubout', ...args], ec.forms.PKCS8);
  const lax = 'OpenSSL reads more encodings of a key than the one it writes';
  const offCurve = Buffer.from(spki);
  offCurve[offCurve.length - 1] ^= 1;
  return [
    {
      what: 'SPKI with a byte after',
      form: 'PKCS8',
      text: pem('PUBLIC KEY', Buffer.concat([spki, Buffer.of(0)])),
      says: unusual,
      why: lax,
    },
    {
      what: 'PKCS#1 with a byte after',
      form: 'PEM',
      text: pem('RSA PUBLIC KEY', Buffer.concat([pkcs1, Buffer.of(0)])),
      says: unusual,
      why: lax,
    },
    {
      what: 'SPKI with a compressed point',
      form: 'PKCS8',
      text: converted('-conv_form', 'compressed'),
      says: unusual,
      why: lax,
    },
    {
      what: 'SPKI with a spelled-out curve',
      form: 'PKCS8',
      text: converted('-param_enc', 'explicit'),
      says: unusual,
      why: lax,
    },
    { what: 'SPKI off the curve', form: 'PKCS8', text: pem('PUBLIC KEY', offCurve), says: 'not a public key' },
    { what: 'SPKI of noise', form: 'PKCS8', text: pem('PUBLIC KEY', randomBytes(200)), says: 'not a public key' },
    { what: 'SPKI cut off', form: 'PKCS8', text: pem('PUBLIC KEY', spki.subarray(0, -1)), says: 'not a public key' },
    { what: 'SPKI labelled PKCS#1', form: 'PEM', text: pem('RSA PUBLIC KEY', spki), says: 'not a public key' },
    { what: 'PKCS#1 labelled SPKI', form: 'PKCS8', text: pem('PUBLIC KEY', pkcs1), says: 'not a public key', why: lax },
    {
      what: 'PEM headers',
      form: 'PEM',
      text: rsa.forms.PEM.replace('\n', '\nProc-Type: 4,CLEAR\n\n'),
      says: 'header lines',
      why: lax,
    },
    {
      what: 'PEM headers of an encrypted key',
      form: 'PEM',
      text: rsa.forms.PEM.replace('\n', '\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n'),
      says: 'header lines',
    },
    { what: 'PEM of another kind', form: 'PKCS8', text: pem('EC PUBLIC KEY', spki), says: 'PEM of another kind' },
    {
      what: 'OpenPGP',
      form: 'PKCS8',
      text: pem('PGP PUBLIC KEY BLOCK', randomBytes(200)),
      says: 'PEM of another kind',
    },
  ];
}
