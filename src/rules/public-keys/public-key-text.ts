import { holdsPrivateKey } from './private-keys.js';
import { wireFormOfPem } from './public-key-pem.js';
import {
  certificateRefusal,
  endsWithKeyType,
  isKeyType,
  type KeyType,
  keyTypeNamed,
  PRIVATE_KEY_SENTENCE,
  refusal,
} from './public-key-type.js';

/** What a text form of a public key holds. Every form becomes the RFC 4253 wire form, which is validated and stored. */
interface WireForm {
  /** The type in front of a one-line key. The other forms name the type only inside the blob. */
  readonly declaredType?: KeyType;
  readonly blob: Buffer;
  /** What is stored beside the key. */
  readonly comment: string;
}

/** Control characters except tab, CR and LF: key files never have them, terminals obey them, PostgreSQL refuses NUL. */
const CONTROL_CHARACTER = /[^\P{Cc}\t\r\n]/u;
const BYTE_ORDER_MARK = '\uFEFF';
const LINE_BREAK = /\r\n|\r|\n/;
const BLANKS = /[ \t]+/;
const BEGIN_LINE = /^-{4,5} ?BEGIN /;
const SSH2_BEGIN = '---- BEGIN SSH2 PUBLIC KEY ----';
const SSH2_END = '---- END SSH2 PUBLIC KEY ----';

/**
 * Reads a text that is not blank and not too long. Every loop is linear in the text. A private key is refused wherever it
 * is, since a secret in a comment or after the key would also be stored and shown.
 */
export function wireFormOf(text: string): WireForm {
  if (holdsPrivateKey(text)) throw refusal(PRIVATE_KEY_SENTENCE);
  refuseOddCharacters(text);
  const trimmed = text.trim();
  if (trimmed.startsWith('-----BEGIN ')) return wireFormOfPemText(trimmed);
  if (trimmed.startsWith('---- BEGIN ')) return wireFormOfSsh2(trimmed);
  return wireFormOfLine(trimmed);
}

function refuseOddCharacters(text: string): void {
  if (CONTROL_CHARACTER.test(text)) throw refusal('public_key contains a control character; upload it as plain text.');
  if (!text.isWellFormed()) throw refusal('public_key is not well-formed Unicode; upload it as plain UTF-8 text.');
  if (text.startsWith(BYTE_ORDER_MARK)) {
    // sshd cannot read such a file either, and the API returns the text byte for byte.
    throw refusal('public_key begins with a byte order mark; save the file as UTF-8 without one.');
  }
}

function wireFormOfLine(text: string): WireForm {
  refuseEncodedFile(text);
  const lines = text.split(LINE_BREAK).filter((line) => line.trim() !== '');
  if (lines.length > 1) throw severalLines(lines);
  const [type = '', base64, ...comment] = text.split(BLANKS);
  if (USER_AND_TYPE.test(type) && isKeyType(type.slice(type.indexOf(':') + 1))) {
    throw refusal(
      'public_key has a user name before its type, as lists of cloud providers have; upload what follows the colon.',
    );
  }
  if (!isKeyType(type) && namesKeyType(text)) {
    throw refusal('public_key has options or a host name in front; upload only the type, the base64 and a comment.');
  }
  const [, mistake] = MISTAKES.find(([form]) => form.test(text)) ?? [];
  if (mistake !== undefined) throw refusal(mistake);
  const declaredType = keyTypeNamed(type);
  if (base64 === undefined) throw refusal(`public_key ends after its type, ${declaredType}; the base64 is missing.`);
  // Two keys without a line break between them: OpenSSH would read the second as a comment and lock its owner out.
  const words = [base64, ...comment];
  if (words.some((word, i) => endsWithKeyType(word) && words[i + 1]?.startsWith('AAAA'))) throw severalKeys();
  return { declaredType, blob: strictBase64(base64), comment: comment.join(' ') };
}

/** What is sent in place of a line. */
const MISTAKES: readonly (readonly [form: RegExp, sentence: string])[] = [
  [/^["'`]/, 'public_key is in quotes; upload the line without them.'],
  [/^[{[]/, 'public_key is JSON; upload the text of the key that is in it.'],
  [
    /^(?:SHA256|MD5):/i,
    'public_key is a fingerprint, of which no key can be made; upload the public key itself (the .pub file).',
  ],
  [/^AAAA[A-Za-z0-9+/]/, 'public_key is base64 without its type; put the type in front, such as ssh-ed25519.'],
  [
    /^(?:~|@|\.{0,2}\/|file:|[A-Za-z]:\\)|^\S+\.pub$/,
    'public_key is the path of a file; upload the text of that file.',
  ],
];

/** A line of Google's metadata: `dana:ssh-ed25519 AAAA...`. */
const USER_AND_TYPE = /^[\w.-]+:/;

/**
 * Kubernetes secrets and the APIs of clouds hold files in base64. The text of a key has characters that base64 lacks.
 */
function refuseEncodedFile(text: string): void {
  if (!/^[A-Za-z0-9+/=\s]+$/.test(text)) return;
  const file = Buffer.from(text, 'base64').toString('latin1');
  if (!file.startsWith('----') && !isKeyType(file.split(BLANKS, 1)[0] ?? '')) return;
  throw refusal('public_key is a whole file in base64; decode it once, for example with base64 -d.');
}

const namesKeyType = (line: string): boolean => line.split(BLANKS).some(isKeyType);

const severalKeys = () => refusal('public_key holds more than one key; make one credential for each.');

function severalLines(lines: readonly string[]): Error {
  if (lines.filter(namesKeyType).length > 1) return severalKeys();
  if (lines.some((line) => BEGIN_LINE.test(line))) {
    return refusal('public_key has text before its BEGIN line; upload only the lines from BEGIN to END.');
  }
  return refusal(`public_key has ${lines.length} lines; type, base64 and comment belong on one line, alone.`);
}

function wireFormOfPemText(text: string): WireForm {
  const [begin = '', ...lines] = text.split(LINE_BREAK);
  const label = /^-----BEGIN ([A-Z0-9 ]{1,64})-----$/.exec(begin.trimEnd())?.[1];
  if (label === undefined) throw refusal('public_key has more than BEGIN on its first line; keep its line breaks.');
  if (label.endsWith('CERTIFICATE')) throw certificateRefusal();
  if (label === 'SSH2 PUBLIC KEY') {
    throw refusal(`public_key has five dashes around its lines; RFC 4716 has four and a blank: "${SSH2_BEGIN}".`);
  }
  if (label !== 'PUBLIC KEY' && label !== 'RSA PUBLIC KEY') {
    throw refusal('public_key is PEM of another kind; it must begin with BEGIN PUBLIC KEY or BEGIN RSA PUBLIC KEY.');
  }
  const body = bodyBefore(`-----END ${label}-----`, lines);
  if (body[0]?.includes(':')) throw refusal('public_key has header lines in its PEM, which no public key has.');
  return { blob: wireFormOfPem(bytesIn(body), label === 'PUBLIC KEY' ? 'spki' : 'pkcs1'), comment: '' };
}

function wireFormOfSsh2(text: string): WireForm {
  const [begin = '', ...lines] = text.split(LINE_BREAK);
  if (begin.trimEnd() !== SSH2_BEGIN) {
    throw refusal(`public_key begins like an RFC 4716 file, but its first line is not "${SSH2_BEGIN}".`);
  }
  const body = bodyBefore(SSH2_END, lines);
  const key = withoutHeaders(body);
  return { blob: bytesIn(key), comment: body.slice(0, -key.length).join('\n') };
}

/** The lines of an armoured block up to its END line, without blanks at their ends. */
function bodyBefore(end: string, lines: readonly string[]): string[] {
  const body = lines.map((line) => line.trimEnd());
  const at = body.indexOf(end);
  if (at < 0 && body.some((line) => line.trimStart() === end)) {
    throw refusal('public_key has blanks in front of its lines; remove the indentation.');
  }
  if (at < 0) throw refusal('public_key has no END line that matches its BEGIN line; upload the whole file.');
  if (at < body.length - 1) throw refusal('public_key has text after its END line; upload exactly one key.');
  return body.slice(0, at);
}

/** RFC 4716 headers come first and contain a colon; a backslash at the end continues one on the next line. */
function withoutHeaders(lines: readonly string[]): readonly string[] {
  let first = 0;
  while (lines[first]?.includes(':')) {
    while (lines[first]?.endsWith('\\')) first += 1;
    first += 1;
  }
  return lines.slice(first);
}

function bytesIn(lines: readonly string[]): Buffer {
  if (lines.includes('')) throw refusal('public_key has a blank line between BEGIN and END; remove it.');
  return strictBase64(lines.join(''));
}

/** Node's decoder skips characters that are not base64. Encoding the bytes again shows whether it skipped any. */
function strictBase64(base64: string): Buffer {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length > 0 && bytes.toString('base64') === base64) return bytes;
  throw refusal('public_key holds base64 that is cut off or has characters that do not belong in it; copy it again.');
}
