import { randomBytes } from 'node:crypto';
import { derOf, fieldsOf, forged, integer, keyLine, lines, makePair, makeSpki, modulus, pem } from './key-forge.mjs';

/**
 * Keys that the service accepts, each in all its text forms. Cases with the same `key` must give one key.
 * `why` is the reason if ssh-keygen does not read the form.
 */
export function validKeyCases() {
  const pairs = [
    ...several(6, 'ed25519', 256),
    ...several(4, 'ecdsa', 256),
    ...several(4, 'ecdsa', 384),
    ...several(4, 'ecdsa', 521),
    ...several(6, 'rsa', 2048),
    ...several(2, 'rsa', 3072),
    ...several(2, 'rsa', 4096),
  ];
  return [
    ...pairs.flatMap(([name, pair]) => textForms(name, pair)),
    ...securityKeys(),
    ...fromOpenssl(),
    ...forgedRsa(),
  ];
}

const several = (count, type, bits) =>
  Array.from({ length: count }, (_, i) => [`${type} ${bits} #${i + 1}`, makePair(type, bits)]);

const NO_ED25519_IMPORT = 'ssh-keygen 9.2 imports no Ed25519 key from PEM; openssl writes them';

function textForms(key, pair) {
  const imported = Object.entries(pair.forms).map(([form, text]) => ({ what: `as ${form}`, form, text }));
  return [...lineForms(pair), ...imported, ...rewrapped(pair)].map((c) => ({ key, ...c, what: `${key}: ${c.what}` }));
}

function lineForms({ type, base64, line }) {
  const forms = {
    'as ssh-keygen wrote it': line,
    'without comment': `${type} ${base64}`,
    'with blanks in the comment': `${type} ${base64} my laptop (work)`,
    'with a comment beyond ASCII': `${type} ${base64} Zoë’s 💻`,
    'separated by tabs and blanks': `${type}\t  ${base64}\tcomment`,
    'with blank lines and blanks around': `\n\n  ${type} ${base64} comment  \n\n`,
    'with CRLF': `${type} ${base64} comment\r\n`,
  };
  return Object.entries(forms).map(([what, text]) => ({ what, form: 'line', text }));
}

function rewrapped({ base64, forms }) {
  const ssh2 = (...body) => `---- BEGIN SSH2 PUBLIC KEY ----\n${body.join('\n')}\n---- END SSH2 PUBLIC KEY ----\n`;
  const cases = [
    { what: 'RFC 4716 without headers', text: ssh2(lines(base64, 70)), form: 'RFC4716' },
    {
      what: 'RFC 4716 with continued and quoted headers',
      text: ssh2(
        'Subject: me',
        'Comment: "a long \\',
        'comment in two \\',
        'and three lines"',
        'x-a: b',
        lines(base64, 64),
      ),
      form: 'RFC4716',
    },
    {
      what: 'RFC 4716 with a colon in a continued header',
      text: ssh2('Comment: "here: \\', 'there: \\', 'everywhere"', lines(base64, 64)),
      form: 'RFC4716',
      why: 'ssh-keygen miscounts the continued lines of a header when they hold a colon, and drops a line of the key',
    },
    { what: 'RFC 4716 with CRLF', text: forms.RFC4716.replaceAll('\n', '\r\n'), form: 'RFC4716' },
  ];
  if (forms.PKCS8) cases.push(...pemWidths('PUBLIC KEY', forms.PKCS8, 'PKCS8'));
  if (forms.PEM) cases.push(...pemWidths('RSA PUBLIC KEY', forms.PEM, 'PEM'));
  return cases;
}

function pemWidths(label, text, form) {
  const der = derOf(text);
  return [
    { what: `${label} in lines of 76`, text: pem(label, der, 76), form },
    { what: `${label} with CRLF`, text: text.replaceAll('\n', '\r\n'), form },
    { what: `${label} with blanks at line ends`, text: text.replaceAll('\n', ' \n'), form },
    {
      what: `${label} with its body on one line`,
      text: pem(label, der, 10_000),
      form,
    },
  ];
}

/** Made without a security key: only the application distinguishes such a key from a plain one. */
function securityKeys() {
  return ['ssh:', 'ssh:work laptop', 'ssh:example.test', 'a'.repeat(255)].flatMap((application, i) => {
    const [, point] = fieldsOf(makePair('ed25519', 256).blob);
    const [, curve, ecPoint] = fieldsOf(makePair('ecdsa', 256).blob);
    const sk = { form: 'line', key: `security key ed25519 #${i + 1}` };
    const skEc = { form: 'line', key: `security key ecdsa #${i + 1}` };
    return [
      { ...sk, what: `${sk.key}`, text: forged('sk-ssh-ed25519@openssh.com', point, application) },
      { ...skEc, what: `${skEc.key}`, text: forged('sk-ecdsa-sha2-nistp256@openssh.com', curve, ecPoint, application) },
    ];
  });
}

function fromOpenssl() {
  const curve = (name) => () => makeSpki('EC', `ec_paramgen_curve:${name}`);
  const makers = {
    'P-256': curve('P-256'),
    'P-384': curve('P-384'),
    'P-521': curve('P-521'),
    'RSA 2048': () => makeSpki('RSA', 'rsa_keygen_bits:2048'),
    'RSA 2048 with exponent 3': () => makeSpki('RSA', 'rsa_keygen_bits:2048', 'rsa_keygen_pubexp:3'),
  };
  const cases = Object.entries(makers).flatMap(([name, make]) =>
    [1, 2, 3].map((i) => ({ what: `openssl ${name} #${i}`, form: 'PKCS8', text: make() })),
  );
  return [...cases, ...[1, 2, 3].flatMap(ed25519FromOpenssl)];
}

/** ssh-keygen reads only the line; the PEM form must give the same key. */
function ed25519FromOpenssl(i) {
  const text = makeSpki('ED25519');
  const key = `openssl Ed25519 #${i}`;
  return [
    { key, what: `${key}: as a line`, form: 'line', text: forged('ssh-ed25519', derOf(text).subarray(-32)) },
    { key, what: `${key}: as PEM`, form: 'PKCS8', text, why: NO_ED25519_IMPORT },
  ];
}

/** At the limits. ssh-keygen would search for hours for such primes; the public key does not show that it has none. */
function forgedRsa() {
  const sizes = [2048, 2049, 8192, 16_384];
  const exponents = [3n, 5n, 17n, 65_537n, 2n ** 31n + 1n, 2n ** 32n - 1n];
  return [
    ...sizes.map((bits) => ({
      what: `RSA of ${bits} bits`,
      form: 'line',
      text: forged('ssh-rsa', integer(65_537n), modulus(bits)),
    })),
    ...exponents.map((e) => ({
      what: `RSA with exponent ${e}`,
      form: 'line',
      text: forged('ssh-rsa', integer(e), modulus(2048)),
    })),
    { what: 'Ed25519 with any bytes', form: 'line', text: forged('ssh-ed25519', anyEd25519()) },
    {
      what: 'a key with a long comment',
      form: 'line',
      text: `${keyLine('ssh-ed25519', makePair('ed25519', 256).blob).trim()} ${'x'.repeat(8000)}`,
    },
  ];
}

const anyEd25519 = () => Buffer.concat([randomBytes(31), Buffer.of(0x11)]);
