/** Reads the next batch while the caller works on the last one. */
export async function* readAhead<Batch>(batches: AsyncGenerator<Batch>): AsyncGenerator<Batch> {
  for (let next = batches.next(); ; ) {
    const { value, done } = await next;
    if (done) return;
    next = batches.next();
    // A caller that stops early never awaits this batch.
    next.catch(() => undefined);
    yield value;
  }
}
