const running = new Set<() => Promise<void>>();

/** Whatever a test starts is stopped when its file ends, unless the test stopped it itself; it is stopped once. */
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
