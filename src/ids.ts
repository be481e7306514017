import { randomFillSync } from 'node:crypto';

/**
 * An id is `<prefix>_` and a KSUID in base62: 4 bytes of seconds since its epoch, and 16 bytes that begin with the
 * millisecond (10 bits) and are random otherwise. In ids of earlier versions all 16 bytes are random.
 */
export type IdPrefix = 'ac' | 'ak' | 'bd' | 'bkdtg' | 'bot' | 'edgtcp' | 'ipp' | 'ipr' | 'op' | 'sshcr' | 'usr';

const KSUID_EPOCH_SECONDS = 1_400_000_000;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const KSUID_CHARACTERS = 27;
const WORDS = 5;
/** The second word of a KSUID: the millisecond, and bits that start in their lower half, so that steps cannot overflow it. */
const RANDOM_BITS = 22;
const FIRST_RANDOM_BITS_MASK = 2 ** (RANDOM_BITS - 1) - 1;
/** A step within a millisecond changes the last eleven digits, and others by its carry only. */
const FIRST_STEP_DIGIT = KSUID_CHARACTERS - 11;

/** The first two words of the ids of a millisecond. */
function timeWords(ms: number): [second: number, millisecond: number] {
  const sinceEpoch = Math.max(0, ms - KSUID_EPOCH_SECONDS * 1000);
  return [Math.floor(sinceEpoch / 1000), Math.floor(sinceEpoch % 1000) * 2 ** RANDOM_BITS];
}

/** The 27 base62 digits of a 160-bit number given as five big-endian 32-bit words. */
function digitsOf(words: readonly number[]): number[] {
  const rest = [...words];
  const digits = new Array<number>(KSUID_CHARACTERS).fill(0);
  for (let at = KSUID_CHARACTERS - 1; at >= 0; at -= 1) {
    let remainder = 0;
    for (let i = 0; i < WORDS; i += 1) {
      const value = remainder * 2 ** 32 + (rest[i] ?? 0);
      rest[i] = Math.floor(value / 62);
      remainder = value % 62;
    }
    digits[at] = remainder;
  }
  return digits;
}

function textOf(digits: readonly number[]): string {
  let text = '';
  for (const digit of digits) text += BASE62.charAt(digit);
  return text;
}

/** Makes its text once: the event, the row and the answer of a change have the same time, and a Date writes it slowly. */
class Time extends Date {
  private text: string | undefined;

  override toISOString(): string {
    this.text ??= super.toISOString();
    return this.text;
  }

  override toJSON(): string {
    return this.toISOString();
  }
}

/**
 * Makes ids and times. Within a process ids strictly increase, even if the clock steps back: the time never goes back,
 * and within a millisecond an id grows by a random step. A step of 1 would let an account count the ids of others.
 */
export class IdSource {
  private lastMs = 0;
  private idMs = -1;
  private digits: number[] = [];
  private readonly random = new Uint32Array(1024);
  private unused = 0;

  constructor(private readonly clock: () => number = Date.now) {}

  /** The current time, never earlier than a time that this source returned before. */
  now(): Date {
    return new Time(this.nowMs());
  }

  /** A new id with the millisecond of `at`, or that of the newest id so far if it is later. */
  next(prefix: IdPrefix, at?: Date): string {
    const ms = at?.getTime() ?? this.nowMs();
    if (ms > this.idMs) this.start(ms);
    else this.step();
    return `${prefix}_${textOf(this.digits)}`;
  }

  private nowMs(): number {
    this.lastMs = Math.max(this.lastMs, this.clock());
    return this.lastMs;
  }

  private start(ms: number): void {
    this.idMs = ms;
    const [second, millisecond] = timeWords(ms);
    const first = millisecond + (this.draw() & FIRST_RANDOM_BITS_MASK);
    this.digits = digitsOf([second, first, this.draw(), this.draw(), this.draw()]);
  }

  /** Adds a number of 64 random bits in the digits themselves: the digits of 160 bits cost seven times as much. */
  private step(): void {
    let carry = 1;
    for (let at = KSUID_CHARACTERS - 1; carry > 0 || at >= FIRST_STEP_DIGIT; at -= 1) {
      // A value of 62 or 63 is no digit, but can be added like one.
      const sum = (this.digits[at] ?? 0) + carry + (at >= FIRST_STEP_DIGIT ? this.draw() & 63 : 0);
      this.digits[at] = sum % 62;
      carry = Math.floor(sum / 62);
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

/**
 * An id between older and newer ones: greater than those of earlier seconds, less than those from this second on. It is
 * not exact to the millisecond, since the ids of earlier versions are not.
 */
export function firstIdOf(prefix: IdPrefix, at: Date): string {
  const [second] = timeWords(at.getTime());
  return `${prefix}_${textOf(digitsOf([second, 0, 0, 0, 0]))}`;
}

const ID = /^[a-z]+_[0-9A-Za-z]{27}$/;

/** Whether `text` has the shape of an id: with this prefix, or with any. A cursor or path of another shape matches no entity. */
export function isId(text: string, prefix?: IdPrefix): boolean {
  return ID.test(text) && (prefix === undefined || text.startsWith(`${prefix}_`));
}
