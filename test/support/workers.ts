import { readFileSync } from 'node:fs';
import { logLines, type RunningMain } from './process.js';

/** Headers for a connection of its own: the primary gives connections to the workers in rotation. */
export const ALONE = { connection: 'close' };

/** The process of each worker that has answered a request, by its number. The program logs its requests. */
export const pidsIn = (main: RunningMain): Map<unknown, number> =>
  new Map(logLines(main).flatMap(({ worker, pid, route }) => (route === undefined ? [] : [[worker, Number(pid)]])));

/** The processes that a process has started and that still run. */
export const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
