import { setTimeout as sleep } from 'node:timers/promises';

/** Repeats the expectation until it holds. After the patience it fails with the last error. */
export async function eventually(expectation: () => unknown, patienceMs = 3_000): Promise<void> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      await expectation();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await sleep(10);
  }
}

export const until = (isSo: () => boolean | Promise<boolean>, patienceMs?: number): Promise<void> =>
  eventually(async () => {
    if (!(await isSo())) throw new Error(`in vain: ${isSo}`);
  }, patienceMs);
