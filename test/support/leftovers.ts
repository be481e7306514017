const running = new Map<object, () => Promise<unknown>>();

/** Whatever a test starts is stopped when its file ends, unless the test stopped it itself. */
export function stopAtEnd<Stopped>(stop: () => Promise<Stopped>): () => Promise<Stopped> {
  const key = {};
  const once = async (): Promise<Stopped> => {
    running.delete(key);
    return stop();
  };
  running.set(key, once);
  return once;
}

export async function stopLeftovers(): Promise<void> {
  await Promise.allSettled([...running.values()].map((stop) => stop()));
}
