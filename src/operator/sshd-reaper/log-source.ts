import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { OperatorError } from '../../kernel/operator-error.js';
import { KEY_COMMAND, type LogRecord, readJournalLine, readSyslogLine, SSHD } from './log-lines.js';

const JOURNALCTL = [
  // Without `--all` a message of 4,096 bytes or more is null in JSON.
  ...['journalctl', '--all', '--boot', '--no-tail', '--follow', '--output=json'],
  '--output-fields=MESSAGE,SYSLOG_IDENTIFIER,_PID,_UID',
  ...[KEY_COMMAND, ...SSHD].map((identifier) => `--identifier=${identifier}`),
];

/**
 * The lines of the system log, first old ones, then new ones as they are written. They come from the journal since the
 * boot, or from a file, which may be rotated. Throws OperatorError if they end.
 */
export async function* readLog(file: string | undefined, signal: AbortSignal): AsyncGenerator<LogRecord> {
  const startedAt = Date.now();
  let oldBytes = file === undefined ? 0 : (statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  const [program = '', ...args] = file === undefined ? JOURNALCTL : ['tail', '-n', '+1', '-F', file];
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], signal });
  child.stderr.on('data', (text: Buffer) => void process.stderr.write(text));
  const failure = new Promise<Error | undefined>((resolve) =>
    child.once('error', resolve).once('close', () => resolve(undefined)),
  );
  for await (const line of createInterface({ input: child.stdout, signal })) {
    const record = file === undefined ? readJournalLine(line) : readSyslogLine(line, Date.now());
    const isOld = file === undefined ? Number(record?.at) < startedAt : oldBytes > 0;
    oldBytes -= Buffer.byteLength(line) + 1;
    if (record !== undefined) yield isOld ? record : { ...record, at: undefined };
  }
  const error = await failure;
  if (signal.aborted) return;
  throw new OperatorError(
    `${program} has ended${error === undefined ? '' : `: ${error.message}`}; without the log the reaper knows of no login`,
  );
}
