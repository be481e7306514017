/**
 * Measures the parser with every text that is known to make a key parser slow. A parse is synchronous, so every other
 * caller of the service waits for it. Run `npm run build` first, then `node bench/public-key-attacks.mjs`.
 */
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import sshpk from 'sshpk';

const GOAL_MS = 50;
const GOAL_PARSE_US = 60;
const ROUNDS = 5;
const PARSES = 5000;

/** DER: tag, length, contents. */
const der = (tag, ...contents) => {
  const body = Buffer.concat(contents);
  const size = body.length;
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.of(tag, ...length), body]);
};
const sequence = (...items) => der(0x30, ...items);
const integer = (bytes) => der(0x02, bytes[0] < 0x80 ? bytes : Buffer.concat([Buffer.of(0), bytes]));
const oid = (hex) => der(0x06, Buffer.from(hex, 'hex'));
const bits = (...contents) => der(0x03, Buffer.of(0), ...contents);
const odd = (bytes) => {
  const number = randomBytes(bytes);
  number[0] |= 0x80;
  number[bytes - 1] |= 1;
  return number;
};

const DSA = oid('2a8648ce380401');
const EC = oid('2a8648ce3d0201');
const RSA = sequence(oid('2a864886f70d010101'), der(0x05));
const pem = (label, body) =>
  `-----BEGIN ${label}-----\n${body
    .toString('base64')
    .match(/.{1,64}/g)
    .join('\n')}\n-----END ${label}-----\n`;

const dsaParameters = (bytes) => sequence(DSA, sequence(integer(odd(bytes)), integer(odd(32)), integer(odd(bytes))));
const dsaPrivate = (bytes) => sequence(integer(Buffer.of(0)), dsaParameters(bytes), der(0x04, integer(odd(32))));
const dsaPublic = (bytes) => sequence(dsaParameters(bytes), bits(integer(odd(bytes))));

/** A curve with explicit parameters over a field of this size. The number that should be prime is not. */
const curve = (bytes) =>
  sequence(
    integer(Buffer.of(1)),
    sequence(oid('2a8648ce3d0101'), integer(odd(bytes))),
    sequence(der(0x04, odd(bytes)), der(0x04, odd(bytes))),
    der(0x04, Buffer.of(2), odd(bytes)),
    integer(odd(bytes)),
    integer(Buffer.of(1)),
  );
const ecPublic = (bytes) => sequence(sequence(EC, curve(bytes)), bits(Buffer.of(2), odd(bytes)));
const ecPrivate = (bytes) => sequence(integer(Buffer.of(1)), der(0x04, odd(bytes)), der(0xa0, curve(bytes)));
const rsaPublic = (bytes, exponent) => sequence(integer(odd(bytes)), integer(exponent));

const field = (bytes) => {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(bytes.length);
  return Buffer.concat([size, bytes]);
};
const line = (type, ...fields) =>
  `${type} ${Buffer.concat([Buffer.from(type), ...fields].map(field)).toString('base64')}`;
const mpint = (bytes) => Buffer.concat([Buffer.of(0), odd(bytes)]);
const E = Buffer.of(1, 0, 1);

/** A modulus that passes the search for small factors, so that every later step also gets it. */
function withoutFactors(bytes) {
  for (;;) {
    const number = mpint(bytes);
    const n = BigInt(`0x${number.toString('hex')}`);
    if (Array.from({ length: 375 }, (_, i) => BigInt(2 * i + 3)).every((factor) => n % factor !== 0n)) return number;
  }
}

const headers = (count) => 'Proc-Type: 4,ENCRYPTED\n'.repeat(count);
const nested = (depth) => Array.from({ length: depth }).reduce((inner) => sequence(inner), Buffer.alloc(0));
const spkiOf = (type, options) =>
  generateKeyPairSync(type, options).publicKey.export({ format: 'pem', type: 'spki' }).toString();

const ATTACKS = {
  '100 KB of dashes': () => '-'.repeat(100_000),
  '16 KB of dashes': () => '-'.repeat(16_000),
  '16 KB of BEGIN lines': () => '-----BEGIN PUBLIC KEY-----\n'.repeat(600),
  'a BEGIN line of 16 KB': () => `-----BEGIN ${'A '.repeat(8000)}`,
  '400 KB of PEM headers': () => `-----BEGIN PUBLIC KEY-----\n${headers(17_000)}-----END PUBLIC KEY-----`,
  '16 KB of PEM headers': () => `-----BEGIN PUBLIC KEY-----\n${headers(690)}-----END PUBLIC KEY-----`,
  '16 KB of RFC 4716 headers': () =>
    `---- BEGIN SSH2 PUBLIC KEY ----\n${'a:\\\n'.repeat(4000)}---- END SSH2 PUBLIC KEY ----`,
  '16 KB of blanks before a letter': () => `${' '.repeat(16_000)}x`,
  '16 KB of blanks inside': () => `ssh-rsa${' '.repeat(16_000)}x`,
  '16 KB of line breaks': () => `x${'\n'.repeat(16_000)}x`,
  '16 KB of key types': () => 'ssh-rsa '.repeat(2000),
  '16 KB of backslashes': () => '\\'.repeat(16_000),
  '16 KB of half surrogate pairs': () => '\ud800'.repeat(5400),
  '16 KB of equals signs': () => `ssh-rsa ${'='.repeat(16_000)}`,
  '1 MB on one line': () => `ssh-rsa ${'A'.repeat(1_000_000)}`,
  '1 MB of base64 lines': () => pem('PUBLIC KEY', randomBytes(750_000)),
  '10 MB of two-byte letters': () => 'é'.repeat(5_000_000),
  'PKCS#8 private DSA, 5.7 KB': () => pem('PRIVATE KEY', dsaPrivate(2050)),
  'PKCS#8 private DSA, 15 KB': () => pem('PRIVATE KEY', dsaPrivate(5500)),
  'PKCS#8 private DSA labelled public': () => pem('PUBLIC KEY', dsaPrivate(5500)),
  'SPKI DSA, 15 KB': () => pem('PUBLIC KEY', dsaPublic(3700)),
  'EC private with its own huge curve': () => pem('EC PRIVATE KEY', ecPrivate(1850)),
  'EC private labelled public': () => pem('PUBLIC KEY', ecPrivate(1850)),
  'SPKI EC with its own huge curve': () => pem('PUBLIC KEY', ecPublic(1850)),
  'SPKI EC with its own curve of 660 bits': () => pem('PUBLIC KEY', ecPublic(82)),
  'SPKI EC with its own curve of 256 bits': () => pem('PUBLIC KEY', ecPublic(32)),
  'SPKI RSA of 88 Kbit': () => pem('PUBLIC KEY', sequence(RSA, bits(rsaPublic(11_000, E)))),
  'SPKI RSA with an exponent of 44 Kbit': () => pem('PUBLIC KEY', sequence(RSA, bits(rsaPublic(5500, odd(5500))))),
  'PKCS#1 RSA of 88 Kbit': () => pem('RSA PUBLIC KEY', rsaPublic(11_000, E)),
  '2900 sequences inside each other': () => pem('PUBLIC KEY', nested(2900)),
  'ssh-rsa of 88 Kbit': () => line('ssh-rsa', E, mpint(11_000)),
  'ssh-rsa of 16384 bits': () => line('ssh-rsa', E, withoutFactors(2048)),
  'ssh-rsa with an exponent of 80 Kbit': () => line('ssh-rsa', mpint(10_000), mpint(256)),
  'ssh-rsa with 3000 empty fields': () => line('ssh-rsa', ...Array.from({ length: 3000 }, () => Buffer.alloc(0))),
  'ecdsa off the curve, P-521': () =>
    line('ecdsa-sha2-nistp521', Buffer.from('nistp521'), Buffer.concat([Buffer.of(4), Buffer.alloc(132, 1)])),
  'sk key with an application of 12 KB': () =>
    line('sk-ssh-ed25519@openssh.com', randomBytes(32), Buffer.alloc(11_900, 0x61)),
  'a good P-521 key as PEM': () => spkiOf('ec', { namedCurve: 'P-521' }),
  'a good RSA key of 4096 bits as PEM': () => spkiOf('rsa', { modulusLength: 4096 }),
};

async function attack(parse, what, text) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  let worstMs = 0;
  delay.enable();
  for (let round = 0; round < ROUNDS; round += 1) {
    await sleep(2);
    worstMs = Math.max(
      worstMs,
      elapsedMs(() => parse(text)),
    );
  }
  await sleep(2);
  delay.disable();
  const stalledMs = delay.max / 1e6;
  return {
    what,
    measured: `${worstMs.toFixed(2)} ms, event loop ${stalledMs.toFixed(1)} ms`,
    goal: `< ${GOAL_MS} ms`,
    ok: worstMs < GOAL_MS && stalledMs < GOAL_MS,
  };
}

function elapsedMs(work) {
  const start = performance.now();
  try {
    work();
  } catch (error) {
    if (error.name !== 'Problem') throw error;
  }
  return performance.now() - start;
}

/** The mean time over many parses of a good key, and the part of it that sshpk takes. */
function ordinary(parse, what, text) {
  const { blob } = parse(text);
  const wholeUs = meanUs(() => parse(text));
  const sshpkUs = meanUs(() => sshpk.parseKey(blob, 'rfc4253').fingerprint('sha256').toString());
  return {
    what,
    measured: `${wholeUs.toFixed(1)} µs, of which sshpk ${sshpkUs.toFixed(1)} µs`,
    goal: `< ${GOAL_PARSE_US} µs`,
    ok: wholeUs < GOAL_PARSE_US,
  };
}

function meanUs(work) {
  for (let i = 0; i < PARSES; i += 1) work();
  const start = performance.now();
  for (let i = 0; i < PARSES; i += 1) work();
  return ((performance.now() - start) * 1000) / PARSES;
}

/** One row for each attack, and then the rows of ordinary keys. */
export async function run() {
  const { parsePublicKey: parse } = await import('../dist/src/rules/public-keys/public-key.js');
  const rows = [];
  // The first parse compiles code and fills caches, so it must not count for the first attack.
  const ed25519 = line('ssh-ed25519', createHash('sha256').update('seed').digest());
  parse(ed25519);
  for (const [what, make] of Object.entries(ATTACKS)) rows.push(await attack(parse, what, make()));
  rows.push(ordinary(parse, 'an Ed25519 key', ed25519));
  const jwk = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });
  const modulus = Buffer.concat([Buffer.of(0), Buffer.from(jwk.n, 'base64url')]);
  rows.push(ordinary(parse, 'an RSA key of 2048 bits', line('ssh-rsa', E, modulus)));
  return rows;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const rows = await run();
  console.table(Object.fromEntries(rows.map(({ what, ...row }) => [what, row])));
  process.exitCode = rows.every((row) => row.ok) ? 0 : 1;
}
