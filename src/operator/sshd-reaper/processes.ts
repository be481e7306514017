import { readFileSync } from 'node:fs';

/** A process of sshd. The start time tells it from a later process with the same id. */
export interface SshdProcess {
  readonly pid: number;
  /** The start time in ticks since the boot. */
  readonly start: number;
}

/** The same on every Linux that Node supports. */
const TICKS_PER_SECOND = 100;
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

/** The start time in milliseconds since 1970, exact to the second. */
export function startTimeOf({ start }: SshdProcess): number {
  const [, boot] = /^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'utf8')) ?? [];
  return Number(boot) * 1000 + (start / TICKS_PER_SECOND) * 1000;
}

/** Sends SIGTERM. False if the process has already ended. */
export function endSshd({ pid, start }: SshdProcess): boolean {
  if (findSshd(pid)?.start !== start) return false;
  process.kill(pid, 'SIGTERM');
  return true;
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
