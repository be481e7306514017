import { randomBytes } from 'node:crypto';
import { derOf, makePair, openssl, pem } from './key-forge.mjs';

/** PEM and RFC 4716 blocks that are cut, doubled, mislabelled or oddly encoded. */
export function brokenArmourCases() {
  const ed25519 = makePair('ed25519', 256);
  const ec = makePair('ecdsa', 256);
  const rsa = makePair('rsa', 2048);
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
