const SLAB_BYTES = 16 * 1024;
const MAX_COPIED_BYTES = 4 * 1024;

/**
 * A queue of bytes. It copies small parts together, since a part of one byte would otherwise hold 200 bytes of memory.
 */
export class ByteQueue {
  private parts: Buffer[] = [];
  private first = 0;
  private slab: Buffer | undefined;
  /** `from` to `to`: the bytes of the slab that no entry of `parts` has yet. */
  private from = 0;
  private to = 0;
  length = 0;

  append(data: Buffer): void {
    const isFirst = this.length === 0;
    this.length += data.length;
    if (isFirst || data.length > MAX_COPIED_BYTES) {
      this.cutSlab();
      this.parts.push(data);
    } else this.copy(data);
  }

  /** The next part; undefined if nothing waits. */
  shift(): Buffer | undefined {
    if (this.first === this.parts.length) this.cutSlab();
    const part = this.parts[this.first];
    if (part === undefined) return undefined;
    this.first += 1;
    this.length -= part.length;
    if (this.length === 0) this.clear();
    return part;
  }

  clear(): void {
    this.parts = [];
    this.slab = undefined;
    this.first = this.from = this.to = this.length = 0;
  }

  private copy(data: Buffer): void {
    if (this.slab === undefined || this.to + data.length > SLAB_BYTES) {
      this.cutSlab();
      this.slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
      this.from = this.to = 0;
    }
    data.copy(this.slab, this.to);
    this.to += data.length;
  }

  private cutSlab(): void {
    if (this.slab !== undefined && this.to > this.from) this.parts.push(this.slab.subarray(this.from, this.to));
    this.from = this.to;
  }
}
