const running = new Set<() => Promise<void>>();

/** Stops everything that a test has started when its file ends, once, unless the test stopped it itself. */
export function stopAtEnd(stop: () => Promise<void>): () => Promise<void> {
  let stopped: Promise<void> | undefined;
  const once = (): Promise<void> => {
    running.delete(once);
    stopped ??= stop();
    return stopped;
  };
  running.add(once);
  return once;
}

export async function stopLeftovers(): Promise<void> {
  await Promise.allSettled([...running].map((stop) => stop()));
}
