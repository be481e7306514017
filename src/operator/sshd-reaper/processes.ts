import { readFileSync } from 'node:fs';

/** A process of sshd. The start time tells it from a later process with the same id. */
export interface SshdProcess {
  readonly pid: number;
  /** In ticks since the boot. */
  readonly start: number;
}

/** Of every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;
/** Position of the start time in /proc/PID/stat, counted after the name, which may hold blanks. */
const START_FIELD = 19;

/** Undefined if there is no such process, or if it is not one of sshd. */
export function findSshd(pid: number): SshdProcess | undefined {
  const stat = readIfThere(`/proc/${pid}/stat`);
  const [, name = ''] = /^\d+ \((.*)\) /s.exec(stat) ?? [];
  if (!name.startsWith('sshd')) return undefined;
  const start = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[START_FIELD];
  return { pid, start: Number(start) };
}

/** When the process started, in milliseconds since 1970, to the second. */
export function startTimeOf({ start }: SshdProcess): number {
  const [, boot] = /^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'utf8')) ?? [];
  return Number(boot) * 1000 + (start / TICKS_PER_SECOND) * 1000;
}

/** False if the process has ended already. */
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
