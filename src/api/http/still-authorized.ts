import { setTimeout as sleep } from 'node:timers/promises';

/** Whether the reader of a stream may still read it, checked in the database. */
export type StillAuthorized = () => Promise<boolean>;

/** Aborts `ending` soon after the reader's key was revoked or its owner lost the role. Ends with the stream's signal. */
export async function endWhenUnauthorized(
  stillAuthorized: StillAuthorized,
  checkEveryMs: number,
  ending: AbortController,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await sleep(checkEveryMs, undefined, { ref: false });
    if (!(await stillAuthorized())) ending.abort();
  }
}
