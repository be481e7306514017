import { setTimeout as sleep } from 'node:timers/promises';

/** Repeats the expectation until it holds, and fails as it does after the patience. */
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
