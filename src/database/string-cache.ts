/** Compared four bytes at a time. */
const WORD_BYTES = 4;

/** A string, and where its bytes are. */
interface CachedString {
  readonly text: string;
  readonly view: DataView;
  readonly start: number;
  readonly length: number;
}

/** Keeps the last strings of one field: comparing bytes takes a fraction of the time of decoding a new string. */
export class StringCache {
  private readonly cached: CachedString[] = [];
  private next = 0;

  read(bytes: Buffer, view: DataView, start: number, end: number): string {
    for (const one of this.cached) if (hasBytes(one, view, start, end - start)) return one.text;
    const text = bytes.toString('utf8', start, end);
    this.cached[this.next] = { text, view, start, length: end - start };
    this.next = (this.next + 1) % MAX_STRINGS;
    return text;
  }
}

const MAX_STRINGS = 4;

/** Compares from the end, where strings of one field differ. */
function hasBytes(one: CachedString, view: DataView, start: number, length: number): boolean {
  if (one.length !== length) return false;
  let i = length - WORD_BYTES;
  for (; i >= 0; i -= WORD_BYTES) if (one.view.getInt32(one.start + i) !== view.getInt32(start + i)) return false;
  for (i += WORD_BYTES - 1; i >= 0; i -= 1)
    if (one.view.getUint8(one.start + i) !== view.getUint8(start + i)) return false;
  return true;
}
