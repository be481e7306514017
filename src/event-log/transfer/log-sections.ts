import { createHash } from 'node:crypto';
import {
  type AccountLine,
  atLine,
  digestInLast,
  faultyLine,
  isFirstOfAll,
  LogFileError,
  parseAccountLine,
  parseRecord,
  type RecordLine,
} from './log-file.js';

/** The log of one account in a file. The lines that its caller does not read are skipped. */
export interface LogSection {
  /**
   * The line before the log. Undefined in a file of one log, whose events name the account, and which ends with the
   * file.
   */
  readonly header: AccountLine | undefined;
  /** The number of the line before its first event. It is right once the records are read. */
  readonly before: number;
  /** Yields lists of the account's records, which come before its events. */
  records(): AsyncGenerator<readonly RecordLine[]>;
  /** Yields lists of lines. Each line should be an event. */
  events(): AsyncGenerator<readonly string[]>;
}

/**
 * Yields the logs of a file, one after the other. Throws LogFileError with the number of the line if the form of the
 * file is wrong.
 */
export async function* sectionsOf(lists: AsyncIterable<readonly string[]>): AsyncGenerator<LogSection> {
  const lines = new Lines(lists);
  try {
    const first = await lines.peek();
    if (first === undefined) throw new LogFileError('the file is empty');
    if (!lines.read(first, isFirstOfAll)) return yield new Section(lines, undefined);
    for (lines.take(1); ; ) {
      const line = await lines.peek();
      if (line === undefined) throw new LogFileError('the file is cut off: its last line is missing');
      const digest = digestInLast(line);
      if (digest === undefined) yield* sectionOf(lines, line);
      else if (digest !== lines.digest()) throw faultyLine(lines.taken + 1, ALTERED);
      else break;
    }
    lines.take(1);
    if ((await lines.peek()) !== undefined) throw faultyLine(lines.taken + 1, 'the file should end before it');
  } finally {
    await lines.end();
  }
}

const ALTERED =
  'the lines before it have another SHA-256: the file was altered or damaged. Use another copy, and an empty database';

async function* sectionOf(lines: Lines, line: string): AsyncGenerator<LogSection> {
  const header = parseAccountLine(line);
  if (header === undefined) throw faultyLine(lines.taken + 1, 'it should name an account and the number of its events');
  lines.take(1);
  const section = new Section(lines, header);
  yield section;
  await section.passOver();
}

/** The lines of a file. They come in lists. */
class Lines {
  /** The number of lines that were taken. */
  taken = 0;
  private list: readonly string[] = [];
  private readonly hash = createHash('sha256');
  private readonly lists: AsyncIterator<readonly string[]>;

  constructor(lists: AsyncIterable<readonly string[]>) {
    this.lists = lists[Symbol.asyncIterator]();
  }

  /** The next line, without taking it. Undefined at the end of the file. */
  async peek(): Promise<string | undefined> {
    while (this.list.length === 0) {
      const { done, value } = await this.lists.next();
      if (done === true) return undefined;
      this.list = value;
    }
    return this.list[0];
  }

  /** Takes at most so many lines from the present list. */
  take(most: number): readonly string[] {
    const taken = this.list.slice(0, most);
    this.list = this.list.slice(most);
    this.taken += taken.length;
    for (const line of taken) this.hash.update(`${line}\n`);
    return taken;
  }

  /** The SHA-256 of the lines that were taken, in hex. */
  digest(): string {
    return this.hash.copy().digest('hex');
  }

  /** Parses the next line. An error names the number of the line. */
  read<T>(line: string, parse: (line: string) => T): T {
    return atLine(this.taken + 1, () => parse(line));
  }

  /** Ends the source of the lines, so that a failed import does not leave the file open. */
  async end(): Promise<void> {
    await this.lists.return?.();
  }
}

/** The most rows that one statement inserts. */
const RECORDS_AT_ONCE = 1_000;

class Section implements LogSection {
  private readEvents = 0;
  private hasRecords: boolean;

  constructor(
    private readonly lines: Lines,
    readonly header: AccountLine | undefined,
  ) {
    this.hasRecords = header !== undefined;
  }

  get before(): number {
    return this.lines.taken - this.readEvents;
  }

  async *records(): AsyncGenerator<readonly RecordLine[]> {
    let records: RecordLine[] = [];
    while (this.hasRecords) {
      const record = await this.nextRecord();
      if (record === undefined) this.hasRecords = false;
      else records.push(record);
      if (record !== undefined && records.length < RECORDS_AT_ONCE) continue;
      if (records.length > 0) yield records;
      records = [];
    }
  }

  async *events(): AsyncGenerator<readonly string[]> {
    for await (const _ of this.records());
    const { events = Number.POSITIVE_INFINITY, account_id } = this.header ?? {};
    while (this.readEvents < events) {
      if ((await this.lines.peek()) === undefined) {
        if (this.header === undefined) return;
        throw new LogFileError(
          `the file is cut off: it has ${this.readEvents} of the ${events} events of ${account_id}`,
        );
      }
      const lines = this.lines.take(events - this.readEvents);
      this.readEvents += lines.length;
      yield lines;
    }
  }

  async passOver(): Promise<void> {
    for await (const _ of this.events());
  }

  private async nextRecord(): Promise<RecordLine | undefined> {
    const line = await this.lines.peek();
    if (line === undefined) return undefined;
    const record = this.lines.read(line, (text) => parseRecord(text, this.header?.account_id ?? ''));
    if (record !== undefined) this.lines.take(1);
    return record;
  }
}
