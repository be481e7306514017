import { randomBytes } from 'node:crypto';
import { derOf, keyLine, lines, makePair, openssl, pem } from './key-forge.mjs';

/** Private keys, complete or inside other text. All are made here for these tests only. */
export const privateKeyCases = () =>
  [...fromSshKeygen(), ...fromOpenssl(), ...otherPrograms(), ...hidden()].map((c) => ({
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
