import { setTimeout as sleep } from 'node:timers/promises';

const BETWEEN_LOOKS_MS = 200;

/** Waits until this is so. The error says what was awaited, with the explanation. */
export async function until(
  what: string,
  patienceMs: number,
  isSo: () => Promise<boolean>,
  explain: () => string = () => '',
): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`${patienceMs} ms were not enough until ${what}\n${explain()}`);
    await sleep(BETWEEN_LOOKS_MS);
  }
}
