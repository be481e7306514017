import { STOP_SIGNALS } from '../kernel/operator-error.js';

/** Aborts when the process is told to stop. Further signals do nothing: npm repeats the SIGINT of the terminal. */
export function untilStopped(): AbortSignal {
  const stop = new AbortController();
  for (const signal of STOP_SIGNALS) process.on(signal, () => stop.abort());
  return stop.signal;
}
