import { isJsonObject } from '../../kernel/json-object.js';

/** A line of the system log. */
export interface LogRecord {
  /** Milliseconds since 1970; undefined for a line that was read right after it was written. */
  readonly at: number | undefined;
  readonly program: string;
  /** The process that wrote it. */
  readonly pid: number;
  /** False: a program of another user wrote it. A file of syslog does not tell, and all its lines count as of root. */
  readonly isRoot: boolean;
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
  /** The options of each line of the answer; undefined if the log line was cut. */
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

/** The identifier of log lines of the key command. */
export const KEY_COMMAND = 'tunnel-gateway-keys';
/** The identifiers of sshd. Since OpenSSH 9.8 a separate program serves each connection. */
export const SSHD: readonly string[] = ['sshd', 'sshd-session'];

const SYSLOG_LINE =
  /^(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)|[A-Z][a-z]{2} [ \d]\d [\d:]{8}) \S+ ([\w.-]+)(?:\[(\d+)\])?: (.*)$/;
const ANSWER = /^(SHA256:[A-Za-z0-9+/]{43}) ((?:[\w-]+@\d+,)*[\w-]+@\d+) (\d+) ([a-z0-9@.-]+)((?: \S+)*)$/;
const ACCEPTED = /^Accepted publickey for \S+ from (\S+) port \d+ ssh2: \S+ (SHA256:[A-Za-z0-9+/]{43})$/;
/** The last word of a complete line. Syslog cuts long lines, and some of the options would stand for other rights. */
const COMPLETE = '.';

/**
 * Reads a line of `journalctl --output=json`. The process and the user come from the journal, so no program can forge
 * them.
 */
export function readJournalLine(line: string): LogRecord | undefined {
  const fields: unknown = JSON.parse(line);
  if (!isJsonObject(fields)) return undefined;
  const { MESSAGE: message, SYSLOG_IDENTIFIER: program, _PID: pid, _UID: uid, __REALTIME_TIMESTAMP: time } = fields;
  // A message that is not text is a list of bytes.
  if (typeof message !== 'string' || typeof program !== 'string') return undefined;
  return { at: Number(time) / 1000, program, pid: Number(pid), isRoot: uid === '0', message };
}

/** Reads a line of a syslog file. `now` gives the year for a line without one. */
export function readSyslogLine(line: string, now: number): LogRecord | undefined {
  const [, time = '', program = '', pid, message = ''] = SYSLOG_LINE.exec(line) ?? [];
  if (program === '') return undefined;
  return { at: timeOf(time, now), program, pid: Number(pid ?? 0), isRoot: true, message };
}

function timeOf(text: string, now: number): number {
  if (text.includes('T')) return Date.parse(text);
  const year = new Date(now).getFullYear();
  const thisYear = Date.parse(`${text} ${year}`);
  const DAY_MS = 86_400_000;
  return thisYear > now + DAY_MS ? Date.parse(`${text} ${year - 1}`) : thisYear;
}

/** What a line says about logins; undefined for any other line. */
export function readLogin({ at, program, pid, isRoot, message }: LogRecord): KeyAnswer | AcceptedKey | undefined {
  if (program === KEY_COMMAND) return readAnswer(at, message);
  const [, source = '', fingerprint] = (isRoot && SSHD.includes(program) && ACCEPTED.exec(message)) || [];
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
