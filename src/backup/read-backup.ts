import { createHash } from 'node:crypto';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { LAST_COMMIT_OF_BEFORE, migrationsOfBackup, newerOf, ofBefore } from '../database/schema/migrations.js';
import { messageOf } from '../error-message.js';
import {
  BackupFileError,
  END_OF_ROWS,
  FORMAT_VERSION,
  type Header,
  isEndLine,
  isHeader,
  isRowsLine,
  isTableLine,
  RowsDigest,
  type RowsLine,
  type TableLine,
  tapped,
} from './backup-file.js';

/** Takes what a backup holds, in its order. */
export interface BackupTarget {
  /** Takes the rows of one table; must read all of them. */
  readonly table: (table: TableLine, rows: AsyncIterable<Buffer>) => Promise<void>;
}

/** Reads a backup from its header on. Every digest is checked, but only the end of the file tells that all of it is right. */
export class BackupReader {
  private constructor(
    readonly header: Header,
    private readonly text: Text,
  ) {}

  static async open(input: Readable): Promise<BackupReader> {
    const text = new Text(input);
    const header = parse(await text.line());
    if (!isHeader(header)) throw notABackup();
    if (header.version > FORMAT_VERSION) throw newer(`its format is version ${header.version}`);
    const migrations = migrationsOfBackup(header.migrations);
    const unknown = newerOf(migrations);
    if (unknown !== undefined) throw newer(`it has the migration ${unknown}`);
    const old = ofBefore(migrations);
    if (old !== undefined) throw ofEarlier(migrations.at(-1) ?? old);
    return new BackupReader({ ...header, migrations }, text);
  }

  /** Resolves with the counts and digests of the tables when the whole file has been read and is right. */
  async readInto(target: BackupTarget): Promise<ReadonlyMap<string, RowsLine>> {
    const tables = new Map<string, RowsLine>();
    for (;;) {
      const digest = this.text.digest();
      const entry = parse(await this.text.line());
      if (isEndLine(entry)) {
        if (entry.sha256 !== digest || !(await this.text.isAtEnd())) throw altered();
        return tables;
      }
      if (!isTableLine(entry) || tables.has(entry.table)) throw altered();
      tables.set(entry.table, await this.readTable(entry, target));
    }
  }

  private async readTable(table: TableLine, target: BackupTarget): Promise<RowsLine> {
    const digest = new RowsDigest();
    await target.table(
      table,
      tapped(this.text.rows(), (block) => void digest.add(block)),
    );
    const [read, written] = [digest.end(), parse(await this.text.line())];
    if (!isRowsLine(written) || written.rows !== read.rows || written.sha256 !== read.sha256) throw altered();
    return read;
  }
}

const MAX_LINE_BYTES = 1 << 20;

/** The lines of a backup. Holds one chunk of the input, or one line if that is longer. */
class Text {
  private readonly input: AsyncIterator<Buffer>;
  private readonly hash = createHash('sha256');
  private rest: Buffer = Buffer.alloc(0);

  constructor(input: Readable) {
    // Hands errors of the input on to the reader, which gets them from the iterator.
    this.input = pipeline(input, createGunzip(), () => undefined)[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  /** The digest of what has been read so far. */
  digest = (): string => this.hash.copy().digest('hex');

  async line(): Promise<string> {
    for (;;) {
      const end = this.rest.indexOf('\n');
      if (end !== -1) return this.take(end + 1).toString();
      if (this.rest.length > MAX_LINE_BYTES) throw notABackup();
      await this.more();
    }
  }

  /** Whole rows, up to the line that ends them. */
  async *rows(): AsyncGenerator<Buffer> {
    for (;;) {
      const end = this.endOfRows();
      const block = this.take(end ?? this.rest.lastIndexOf('\n') + 1);
      if (block.length > 0) yield block;
      if (end !== undefined) break;
      await this.more();
    }
    this.take(END_OF_ROWS.length);
  }

  async isAtEnd(): Promise<boolean> {
    return this.rest.length === 0 && (await this.read()) === undefined;
  }

  private endOfRows(): number | undefined {
    if (this.rest.indexOf(END_OF_ROWS) === 0) return 0;
    const at = this.rest.indexOf(`\n${END_OF_ROWS}`);
    return at === -1 ? undefined : at + 1;
  }

  private take(length: number): Buffer {
    const taken = this.rest.subarray(0, length);
    this.rest = this.rest.subarray(length);
    this.hash.update(taken);
    return taken;
  }

  private async more(): Promise<void> {
    const chunk = await this.read();
    if (chunk === undefined) throw new BackupFileError(`the backup is cut off: its end is missing; ${WAY_OUT}`);
    this.rest = Buffer.concat([this.rest, chunk]);
  }

  private async read(): Promise<Buffer | undefined> {
    try {
      const { done, value } = await this.input.next();
      return done === true ? undefined : value;
    } catch (error) {
      throw isOfZlib(error) ? damaged(error) : error;
    }
  }
}

const isOfZlib = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');

const WAY_OUT = 'use another copy of it, or another backup';

const damaged = (error: Error): BackupFileError =>
  new BackupFileError(
    messageOf(error) === 'incorrect header check'
      ? 'the file is not a backup that this service wrote'
      : `the backup is cut off or damaged (${messageOf(error)}); ${WAY_OUT}`,
  );

const notABackup = (): BackupFileError => new BackupFileError('the file is not a backup that this service wrote');
const altered = (): BackupFileError =>
  new BackupFileError(`the backup was altered: its content is not what its digests say; ${WAY_OUT}`);
const newer = (why: string): BackupFileError =>
  new BackupFileError(`a newer version of the service wrote this backup (${why}): restore it with that version`);

const ofEarlier = (newest: string): BackupFileError =>
  new BackupFileError(
    `an earlier version of the service wrote this backup (${newest}): restore it with commit ${LAST_COMMIT_OF_BEFORE}, and write a backup with that`,
  );

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
