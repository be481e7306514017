import { field, fieldsOf, keyLine, lines, makePair, wire } from './key-forge.mjs';

/** One-line keys broken as text or byte by byte. `says` is part of the refusal; `why` is the reason if ssh-keygen accepts. */
export function brokenLineCases() {
  const bases = ['ed25519 256', 'ecdsa 256', 'ecdsa 384', 'ecdsa 521', 'rsa 2048'].map((name) => {
    const [type, bits] = name.split(' ');
    return [name, makePair(type, bits)];
  });
  return bases.flatMap(([name, pair]) =>
    [...brokenText(pair), ...brokenBlob(pair)].map((c) => ({ ...c, what: `${name}: ${c.what}` })),
  );
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
    line('no type', base64, 'without its type'),
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
    line('longer than the limit', `${key} ${'x'.repeat(16_384)}`, 'the maximum is 16384', 'ssh-keygen has no limit'),
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
