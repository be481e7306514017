import type { GatewayLog } from '../gateway-log.js';
import { type BoundedLine, boundedLine } from './bounded-line.js';

/** What a line is about. */
export interface Subject {
  /** A source, a credential, or an address or setting of the gateway. */
  readonly name: string;
  readonly account?: string;
}

/** The most lines and characters in a second. */
const OF_NAME = { lines: 10, characters: 4_500 };
const OF_ACCOUNT = { lines: 100, characters: 12_000 };
const OF_ALL = { lines: 1_000, characters: 40_000 };
/**
 * The part for further lines of a name. The rest is for the first line of each name, so that a few names do not hide
 * others.
 */
const PART_OF_FURTHER_LINES = 0.5;
/** All further names share one limit: a client may have as many addresses as it likes. */
const MAX_NAMES = 1_000;
const OTHERS = 'others';

/** Counts the lines and characters of the current second. */
class Written {
  private lines = 0;
  private characters = 0;
  leftOut = 0;

  constructor(private readonly max: typeof OF_NAME) {}

  get isNew(): boolean {
    return this.lines + this.leftOut === 0;
  }

  hasRoom(characters: number, part = 1): boolean {
    return this.lines < this.max.lines * part && this.characters + characters <= this.max.characters * part;
  }

  add({ characters }: BoundedLine): void {
    this.lines += 1;
    this.characters += characters;
  }
}

/**
 * Writes log lines of one kind about clients, which could cause any number of them. So it limits the lines in a second
 * for each name, for each account and for all together. Each second it writes one line with the number of lines it left
 * out.
 */
export class RateLimitedLog {
  private readonly names = new Map<string, Written>();
  private readonly accounts = new Map<string, Written>();
  private all = new Written(OF_ALL);

  constructor(
    private readonly log: GatewayLog,
    /** Completes "left out 12 more lines about ...". */
    private readonly what: string,
  ) {}

  line({ name, account }: Subject, fields: object, message: string, level: 'info' | 'warn' | 'error' = 'info'): void {
    if (this.names.size === 0) setTimeout(() => this.endSecond(), 1_000).unref();
    const own = placeOf(this.names, name, OF_NAME);
    const shared = account === undefined ? [this.all] : [placeOf(this.accounts, account, OF_ACCOUNT), this.all];
    const part = own.isNew ? 1 : PART_OF_FURTHER_LINES;
    const hasRoom = (characters: number): boolean =>
      own.hasRoom(characters) && shared.every((one) => one.hasRoom(characters, part));
    // Asks for room before it makes the line, since a flood consists mostly of lines that are left out.
    const line = hasRoom(0) ? boundedLine(fields, message) : undefined;
    if (line === undefined || !hasRoom(line.characters)) own.leftOut += 1;
    else {
      for (const one of [own, ...shared]) one.add(line);
      this.log.line(level, line.fields, line.message);
    }
  }

  private endSecond(): void {
    const limited = [...this.names].filter(([, { leftOut }]) => leftOut > 0);
    limited.sort(([, one], [, other]) => other.leftOut - one.leftOut);
    const sum = limited.reduce((count, [, { leftOut }]) => count + leftOut, 0);
    const fields = { of: limited[0]?.[0], names: limited.length };
    if (sum > 0) this.log.line('warn', fields, `left out ${sum} more lines about ${this.what} within a second`);
    this.names.clear();
    this.accounts.clear();
    this.all = new Written(OF_ALL);
  }
}

function placeOf(all: Map<string, Written>, name: string, max: typeof OF_NAME): Written {
  const place = all.has(name) || all.size < MAX_NAMES ? name : OTHERS;
  const written = all.get(place) ?? new Written(max);
  all.set(place, written);
  return written;
}
