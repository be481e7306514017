import { execFileSync } from 'node:child_process';
import { createPrivateKey, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { derOf, keyLine, lines, makePair, openssl, pem } from './key-forge.mjs';
import { inTemporaryDirectory } from './ssh-keygen.mjs';

/** Private keys, complete or inside other text. All are made here for these tests only. */
export const privateKeyCases = () =>
  [...fromSshKeygen(), ...fromOpenssl(), ...otherPrograms(), ...hidden(), ...besideAKey()].map((c) => ({
    form: 'line',
    ...c,
    says: 'private key',
    why: WHY,
  }));

const WHY = 'ssh-keygen shows the public half of a private key, or takes what is in a comment';

function fromSshKeygen() {
  const types = [
    ['ed25519', 256],
    ['ecdsa', 256],
    ['ecdsa', 521],
    ['rsa', 2048],
  ];
  const forms = types.flatMap(([type, bits]) => [
    [`OpenSSH ${type} ${bits}`, makePair(type, bits)],
    [`OpenSSH ${type} ${bits} with a passphrase`, makePair(type, bits, { passphrase: 'throw-away' })],
  ]);
  const older = ['PEM', 'PKCS8'].flatMap((privateForm) => [
    [`${privateForm} rsa`, makePair('rsa', 2048, { privateForm })],
    [`${privateForm} ecdsa`, makePair('ecdsa', 384, { privateForm })],
    [`${privateForm} rsa with a passphrase`, makePair('rsa', 2048, { privateForm, passphrase: 'throw-away' })],
  ]);
  return [...forms, ...older].map(([what, pair]) => ({ what: `private: ${what}`, text: pair.privateKey }));
}

function fromOpenssl() {
  const generate = (...args) => openssl(['genpkey', '-quiet', '-algorithm', ...args]);
  return [
    { what: 'private: PKCS#8 Ed25519', text: generate('ED25519') },
    { what: 'private: PKCS#8 X25519', text: generate('X25519') },
    { what: 'private: PKCS#8 Ed25519 encrypted', text: generate('ED25519', '-aes256', '-pass', 'pass:throw-away') },
    { what: 'private: SEC 1 with parameters', text: openssl(['ecparam', '-name', 'prime256v1', '-genkey']) },
  ];
}

/** Only the shape of these files is real; their bodies are noise. */
function otherPrograms() {
  const noise = (bytes) => lines(randomBytes(bytes).toString('base64'), 64);
  const putty = (version) =>
    `PuTTY-User-Key-File-${version}: ssh-ed25519\nEncryption: none\nComment: throw-away\nPublic-Lines: 2\n${noise(51)}\nPrivate-Lines: 1\n${noise(36)}\nPrivate-MAC: 00\n`;
  return [
    { what: 'private: PuTTY version 2', text: putty(2) },
    { what: 'private: PuTTY version 3', text: putty(3) },
    {
      what: 'private: ssh.com',
      text: `---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: "x"\n${noise(300)}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----\n`,
    },
    { what: 'private: SSH 1', text: `SSH PRIVATE KEY FILE FORMAT 1.1\n${noise(200)}\n` },
    { what: 'private: DNSSEC', text: `Private-key-format: v1.3\nAlgorithm: 15 (ED25519)\nPrivateKey: ${noise(32)}\n` },
    { what: 'private: age', text: `# created: 2026-01-01T00:00:00Z\nAGE-SECRET-KEY-1${'Q'.repeat(58)}\n` },
    { what: 'private: age in small letters', text: `age-secret-key-1${'q'.repeat(58)}\n` },
  ];
}

function hidden() {
  const pair = makePair('ed25519', 256);
  const rsa = makePair('rsa', 2048, { privateForm: 'PEM' });
  const ec = makePair('ecdsa', 256, { privateForm: 'PEM' });
  const pkcs8 = derOf(openssl(['genpkey', '-quiet', '-algorithm', 'ED25519']));
  const body = derOf(pair.privateKey).toString('base64');
  const public_ = pair.line.trim();
  return [
    { what: 'private: after the public key', text: `${pair.line}${pair.privateKey}` },
    { what: 'private: before the public key', text: `${pair.privateKey}${pair.line}` },
    { what: 'private: in the comment', text: `${public_} ${pair.privateKey.replaceAll('\n', ' ')}` },
    { what: 'private: its base64 in the comment', text: `${public_} ${body}` },
    { what: 'private: without its BEGIN and END lines', text: lines(body, 70) },
    { what: 'private: with escaped line breaks', text: pair.privateKey.replaceAll('\n', '\\n') },
    { what: 'private: with CRLF', text: pair.privateKey.replaceAll('\n', '\r\n') },
    {
      what: 'private: in an RFC 4716 header',
      form: 'RFC4716',
      text: pair.forms.RFC4716.replace('\n', `\nx-secret: AGE-SECRET-KEY-1${'Q'.repeat(40)}\n`),
    },
    { what: 'private: PKCS#1 labelled a public key', form: 'PEM', text: pem('RSA PUBLIC KEY', derOf(rsa.privateKey)) },
    { what: 'private: SEC 1 labelled a public key', form: 'PKCS8', text: pem('PUBLIC KEY', derOf(ec.privateKey)) },
    { what: 'private: PKCS#8 labelled a public key', form: 'PKCS8', text: pem('PUBLIC KEY', pkcs8) },
    { what: 'private: an agent’s form of a key', text: keyLine('ssh-ed25519', Buffer.from(body, 'base64')) },
  ];
}

/** A good public key, and a private one in its comment that has no BEGIN line. */
function besideAKey() {
  const { line, forms, privateKey } = makePair('ed25519', 256);
  const beside = (what, secret) => ({ what: `private: ${what} in the comment`, text: `${line.trim()} ${secret}` });
  const rsa = openssl(['genpkey', '-quiet', '-algorithm', 'RSA']);
  const pkcs1 = derOf(makePair('rsa', 2048, { privateForm: 'PEM' }).privateKey);
  const sec1 = derOf(makePair('ecdsa', 521, { privateForm: 'PEM' }).privateKey);
  const dsa = (privateForm) => derOf(makePair('dsa', 1024, { privateForm }).privateKey).toString('base64');
  const ed25519 = derOf(openssl(['genpkey', '-quiet', '-algorithm', 'ED25519']));
  const sealed = derOf(openssl(['pkcs8', '-topk8', '-passout', 'pass:throw-away'], rsa));
  const sealedBefore = derOf(openssl(['pkcs8', '-topk8', '-v1', 'PBE-SHA1-3DES', '-passout', 'pass:throw-away'], rsa));
  const body = derOf(privateKey).toString('base64');
  return [
    beside('the base64 of a file', Buffer.from(privateKey).toString('base64')),
    beside('the base64 of a file in UTF-16', Buffer.from(privateKey, 'utf16le').toString('base64')),
    beside('OpenSSH cut by blanks', lines(body, 7).replaceAll('\n', ' ')),
    {
      what: 'private: OpenSSH cut by lines in an RFC 4716 comment',
      form: 'RFC4716',
      text: forms.RFC4716.replace(/Comment: .*/, `Comment: "${lines(body, 60).replaceAll('\n', '\\\n')}"`),
    },
    beside('PKCS#8 RSA', derOf(rsa).toString('base64')),
    beside('PKCS#8 RSA in hex', derOf(rsa).toString('hex')),
    beside('PKCS#8 Ed25519', ed25519.toString('base64')),
    beside('PKCS#8 Ed25519 as hex bytes', ed25519.toString('hex').replace(/../g, '0x$&, ')),
    beside('PKCS#8 DSA', dsa('PKCS8')),
    beside('DSA', dsa('PEM')),
    beside('PKCS#8 with a passphrase', sealed.toString('base64url')),
    beside('PKCS#8 with a passphrase of PKCS#12', sealedBefore.toString('base64')),
    beside('PKCS#1', pkcs1.toString('base64')),
    beside('SEC 1', sec1.toString('base64')),
    beside('PKCS#12', pkcs12().toString('base64')),
    beside('ssh.com', Buffer.concat([SSH_COM, randomBytes(300)]).toString('base64')),
    ...jwkAndXml(rsa).flatMap(([what, text]) => [
      beside(what, text),
      beside(`${what} in base64`, Buffer.from(text).toString('base64')),
    ]),
    ...['ed25519', 'ecdsa', 'rsa'].flatMap((type) => [
      beside(`PuTTY ${type}`, puttyLines(type)),
      beside(`dropbear ${type}`, dropbearKey(type).toString('base64')),
    ]),
    beside('the last line of PuTTY', `Private-MAC: ${randomBytes(32).toString('hex')}`),
  ];
}

/** The magic number of ssh.com, a length, and the type of the key. */
const SSH_COM = Buffer.from('3f6ff9eb0000014000000037', 'hex');

function pkcs12() {
  return inTemporaryDirectory((directory) => {
    const [key, certificate] = [join(directory, 'key'), join(directory, 'certificate')];
    openssl([
      'req',
      '-x509',
      '-newkey',
      'ed25519',
      '-nodes',
      '-subj',
      '/CN=throw-away',
      '-keyout',
      key,
      '-out',
      certificate,
    ]);
    const file = join(directory, 'file');
    openssl(['pkcs12', '-export', '-inkey', key, '-in', certificate, '-passout', 'pass:throw-away', '-out', file]);
    return readFileSync(file);
  });
}

function jwkAndXml(rsa) {
  const jwk = (text) => createPrivateKey(text).export({ format: 'jwk' });
  const { n, e, d } = jwk(rsa);
  const base64 = (text) => Buffer.from(text, 'base64url').toString('base64');
  const xml = Object.entries({ Modulus: n, Exponent: e, D: d }).map(
    ([name, text]) => `<${name}>${base64(text)}</${name}>`,
  );
  const ec = openssl(['genpkey', '-quiet', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256']);
  return [
    ['JWK', JSON.stringify(jwk(ec))],
    ['JWK in a string', JSON.stringify(JSON.stringify(jwk(rsa), undefined, 1)).replaceAll('\\n', '')],
    ['XML', `<RSAKeyValue>${xml.join(' ')}</RSAKeyValue>`],
  ];
}

/** The lines with the secret, without those that say so. */
function puttyLines(type) {
  return inTemporaryDirectory((directory) => {
    const [file, putty] = [join(directory, 'id'), join(directory, 'id.ppk')];
    writeFileSync(file, makePair(type, type === 'rsa' ? 2048 : 256).privateKey, { mode: 0o600 });
    execFileSync('puttygen', [file, '-O', 'private', '-o', putty]);
    const [, body] = /Private-Lines: \d+\n([\s\S]*)\nPrivate-MAC/.exec(readFileSync(putty, 'utf8'));
    return body.replaceAll('\n', ' ');
  });
}

const dropbearKey = (type) =>
  inTemporaryDirectory((directory) => {
    const file = join(directory, 'id');
    execFileSync('dropbearkey', ['-t', type, '-f', file], { stdio: 'ignore' });
    return readFileSync(file);
  });
