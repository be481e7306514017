import { isJsonObject } from '../../kernel/json-object.js';

/** A line of the system's log. */
export interface LogRecord {
  /** Milliseconds since 1970; undefined for a line that was read as it was written. */
  readonly at: number | undefined;
  readonly program: string;
  /** The process that wrote it. */
  readonly pid: number;
  readonly message: string;
}

/** The key command answered for a key. */
export interface KeyAnswer {
  readonly kind: 'answer';
  readonly at: number | undefined;
  /** The sshd that asked. */
  readonly pid: number;
  readonly fingerprint: string;
  readonly keyType: string;
  /** The credentials of the key, each with its version. */
  readonly credentials: readonly { readonly credential_id: string; readonly version: number }[];
  /** The options of each line of the answer; undefined if the log does not have all of them. */
  readonly options: readonly string[] | undefined;
}

/** sshd let a key in. */
export interface AcceptedKey {
  readonly kind: 'accepted';
  readonly at: number | undefined;
  readonly pid: number;
  readonly fingerprint: string;
  /** Where the client connects from. */
  readonly source: string;
}

/** Identifier of the key command's lines. */
export const KEY_COMMAND = 'tunnel-gateway-keys';
/** OpenSSH 9.8 and later serve each connection with a program of its own. */
export const SSHD: readonly string[] = ['sshd', 'sshd-session'];

const SYSLOG_LINE =
  /^(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)|[A-Z][a-z]{2} [ \d]\d [\d:]{8}) \S+ ([\w.-]+)(?:\[(\d+)\])?: (.*)$/;
const ANSWER = /^(SHA256:[A-Za-z0-9+/]{43}) ((?:[\w-]+@\d+,)*[\w-]+@\d+) (\d+) ([a-z0-9@.-]+)((?: \S+)*)$/;
const ACCEPTED = /^Accepted publickey for \S+ from (\S+) port \d+ ssh2: \S+ (SHA256:[A-Za-z0-9+/]{43})$/;
/** Ends the options: syslog cuts a long line, and half of the options would stand for fewer rights. */
const COMPLETE = '.';

/** A line of `journalctl --output=json`. The journal knows the process and the user of a line, whatever the line says. */
export function readJournalLine(line: string): LogRecord | undefined {
  const fields: unknown = JSON.parse(line);
  if (!isJsonObject(fields)) return undefined;
  const { MESSAGE: message, SYSLOG_IDENTIFIER: program, _PID: pid, _UID: uid, __REALTIME_TIMESTAMP: time } = fields;
  // A message that is not text is a list of bytes.
  if (typeof message !== 'string' || typeof program !== 'string') return undefined;
  if (SSHD.includes(program) && uid !== '0') return undefined;
  return { at: Number(time) / 1000, program, pid: Number(pid), message };
}

/** A line of a file of syslog. `now` tells the year of a line without one. */
export function readSyslogLine(line: string, now: number): LogRecord | undefined {
  const [, time = '', program = '', pid, message = ''] = SYSLOG_LINE.exec(line) ?? [];
  if (program === '') return undefined;
  return { at: timeOf(time, now), program, pid: Number(pid ?? 0), message };
}

function timeOf(text: string, now: number): number {
  if (text.includes('T')) return Date.parse(text);
  const year = new Date(now).getFullYear();
  const thisYear = Date.parse(`${text} ${year}`);
  const DAY_MS = 86_400_000;
  return thisYear > now + DAY_MS ? Date.parse(`${text} ${year - 1}`) : thisYear;
}

/** What a line says about logins; undefined for any other line. */
export function readLogin({ at, program, pid, message }: LogRecord): KeyAnswer | AcceptedKey | undefined {
  if (program === KEY_COMMAND) return readAnswer(at, message);
  const [, source = '', fingerprint] = (SSHD.includes(program) && ACCEPTED.exec(message)) || [];
  return fingerprint === undefined ? undefined : { kind: 'accepted', at, pid, fingerprint, source };
}

function readAnswer(at: number | undefined, message: string): KeyAnswer | undefined {
  const [, fingerprint = '', ids = '', pid, keyType = '', rest = ''] = ANSWER.exec(message) ?? [];
  if (pid === undefined) return undefined;
  const credentials = ids.split(',').map((one) => {
    const [credential_id = '', version] = one.split('@');
    return { credential_id, version: Number(version) };
  });
  const words = rest.trim().split(' ');
  const options = words.at(-1) === COMPLETE ? words.slice(0, -1) : undefined;
  return { kind: 'answer', at, pid: Number(pid), fingerprint, keyType, credentials, options };
}
