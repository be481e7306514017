import { randomFillSync } from 'node:crypto';

/** An id is `<prefix>_` and a KSUID: 4 bytes of seconds since its epoch and 16 random bytes, in base62. */
export type IdPrefix = 'ac' | 'ak' | 'bd' | 'bot' | 'edgtcp' | 'op' | 'sshcr' | 'usr';

const KSUID_EPOCH_SECONDS = 1_400_000_000;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const KSUID_CHARACTERS = 27;
const WORDS = 5;
/** The second word of a KSUID starts below 2^31, so that the increments of one second cannot overflow it. */
const FIRST_PAYLOAD_WORD_MASK = 0x7fff_ffff;

/** Base62 of a 160-bit number given as five big-endian 32-bit words, padded to 27 characters. */
function encode(words: readonly number[]): string {
  const rest = [...words];
  const text = new Array<string>(KSUID_CHARACTERS);
  for (let at = KSUID_CHARACTERS - 1; at >= 0; at -= 1) {
    let remainder = 0;
    for (let i = 0; i < WORDS; i += 1) {
      const value = remainder * 2 ** 32 + (rest[i] ?? 0);
      rest[i] = Math.floor(value / 62);
      remainder = value % 62;
    }
    text[at] = BASE62.charAt(remainder);
  }
  return text.join('');
}

/**
 * Makes ids and times. Within a process ids strictly increase, even if the clock steps back: the time never goes back,
 * and within a second the random part grows by a random step. A step of 1 would let an account count the ids of others.
 */
export class IdSource {
  private lastMs = 0;
  private lastSecond = -1;
  private words: number[] = [];
  private readonly random = new Uint32Array(256);
  private unused = 0;

  constructor(private readonly clock: () => number = Date.now) {}

  /** The current time, never earlier than a time that this source returned before. */
  now(): Date {
    this.lastMs = Math.max(this.lastMs, this.clock());
    return new Date(this.lastMs);
  }

  /** A new id with the second of `at`, or the second of the newest id so far if that is later. */
  next(prefix: IdPrefix, at: Date = this.now()): string {
    const second = Math.floor(at.getTime() / 1000) - KSUID_EPOCH_SECONDS;
    if (second > this.lastSecond) this.start(second);
    else this.step();
    return `${prefix}_${encode(this.words)}`;
  }

  private start(second: number): void {
    this.lastSecond = second;
    const first = this.draw() & FIRST_PAYLOAD_WORD_MASK;
    this.words = [second, first, this.draw(), this.draw(), this.draw()];
  }

  private step(): void {
    const step = [0, 0, 0, this.draw(), (this.draw() | 1) >>> 0];
    let carry = 0;
    for (let i = WORDS - 1; i > 0; i -= 1) {
      const sum = (this.words[i] ?? 0) + (step[i] ?? 0) + carry;
      this.words[i] = sum % 2 ** 32;
      carry = sum >= 2 ** 32 ? 1 : 0;
    }
  }

  private draw(): number {
    if (this.unused === 0) {
      randomFillSync(this.random);
      this.unused = this.random.length;
    }
    this.unused -= 1;
    return this.random[this.unused] ?? 0;
  }
}

/** An id between older and newer ones: greater than those of earlier seconds, less than those from this second on. */
export function firstIdOf(prefix: IdPrefix, at: Date): string {
  const second = Math.floor(at.getTime() / 1000) - KSUID_EPOCH_SECONDS;
  return `${prefix}_${encode([Math.max(0, second), 0, 0, 0, 0])}`;
}

const ID = /^(?<prefix>[a-z]+)_[0-9A-Za-z]{27}$/;

/** Whether `text` has the shape of an id: with this prefix, or with any. A cursor or path of another shape matches no entity. */
export function isId(text: string, prefix?: IdPrefix): boolean {
  const found = ID.exec(text)?.groups?.prefix;
  return found !== undefined && (prefix === undefined || found === prefix);
}
