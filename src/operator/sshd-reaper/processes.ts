import { readFileSync } from 'node:fs';

/** A process of sshd. The start time tells it from a later process with the same id. */
export interface SshdProcess {
  readonly pid: number;
  /** The start time in ticks since the boot. */
  readonly start: number;
}

/** The same on every Linux that Node supports. */
const TICKS_PER_SECOND = 100;
/** The clock of the log and the boot time of the kernel differ a little. */
const TOLERANCE_MS = 2_000;
/** The position of the start time in /proc/PID/stat. It is counted after the name, which may hold blanks. */
const START_FIELD = 19;

/** Undefined if there is no such process, or it is not an sshd. */
export function findSshd(pid: number): SshdProcess | undefined {
  const stat = readIfThere(`/proc/${pid}/stat`);
  const [, name = ''] = /^\d+ \((.*)\) /s.exec(stat) ?? [];
  if (!name.startsWith('sshd')) return undefined;
  const start = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[START_FIELD];
  return { pid, start: Number(start) };
}

/**
 * The sshd that wrote a line of the log. Undefined if it has ended, also if another one has its id now. `at` is
 * undefined for a line that was just written, which belongs to the process that exists now, whatever the clocks say.
 */
export function findWriter({ pid, at }: { readonly pid: number; readonly at: number | undefined }) {
  const sshd = findSshd(pid);
  const isOlder = at !== undefined && sshd !== undefined && startTimeOf(sshd) > at + TOLERANCE_MS;
  return isOlder ? undefined : sshd;
}

export const isRunning = ({ pid, start }: SshdProcess): boolean => findSshd(pid)?.start === start;

/** The start time in milliseconds since 1970, exact to the second. */
function startTimeOf({ start }: SshdProcess): number {
  const [, boot] = /^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'utf8')) ?? [];
  return Number(boot) * 1000 + (start / TICKS_PER_SECOND) * 1000;
}

/** Sends SIGTERM. False if the process has already ended. */
export function endSshd(sshd: SshdProcess): boolean {
  if (!isRunning(sshd)) return false;
  process.kill(sshd.pid, 'SIGTERM');
  return true;
}

/** Empty if there is no such file. */
function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
