import { createHash, type Hash } from 'node:crypto';
import { isJsonObject } from '../json-object.js';
import { OperatorError } from '../operator-error.js';

/**
 * A backup is gzip of this text: a line with the header; for each table a line with its name and columns, its rows as COPY
 * writes them, a line `\.`, and a line with the number and the digest of the rows; then a line with the digest of all lines
 * before it.
 */
export const FORMAT = 'tunnel-access-backup';
export const FORMAT_VERSION = 1;

/** COPY escapes every backslash of a value, so no row is this line. */
export const END_OF_ROWS = '\\.\n';

export interface Header {
  readonly format: typeof FORMAT;
  readonly version: number;
  readonly created_at: string;
  /** The migrations that had run, oldest first. They say how the tables look. */
  readonly migrations: readonly string[];
}

export interface TableLine {
  readonly table: string;
  readonly columns: readonly string[];
}

/** Number and digest of the rows of a table, or of several. */
export interface RowsLine {
  readonly rows: number;
  readonly sha256: string;
}

/** The file is not a whole backup, or not one that this version can read. */
export class BackupFileError extends OperatorError {
  override readonly name = 'BackupFileError';
}

/** Counts and digests the rows of a table as they pass. */
export class RowsDigest {
  private readonly hash: Hash = createHash('sha256');
  private rows = 0;

  /** Returns the number of rows that end in these bytes. */
  add(bytes: Buffer): number {
    this.hash.update(bytes);
    const ended = countLines(bytes);
    this.rows += ended;
    return ended;
  }

  end(): RowsLine {
    return { rows: this.rows, sha256: this.hash.digest('hex') };
  }
}

const LINE_FEED = 0x0a;

/** Rows that end in these bytes. */
export function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) lines += 1;
  return lines;
}

/** Shows each block to `see` as it passes. */
export async function* tapped(blocks: AsyncIterable<Buffer>, see: (block: Buffer) => void): AsyncGenerator<Buffer> {
  for await (const block of blocks) {
    see(block);
    yield block;
  }
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

export const isHeader = (value: unknown): value is Header =>
  isJsonObject(value) &&
  value.format === FORMAT &&
  typeof value.version === 'number' &&
  typeof value.created_at === 'string' &&
  isTexts(value.migrations);

/** The name and the columns become part of a statement, so only plain identifiers pass. */
export const isTableLine = (value: unknown): value is TableLine =>
  isJsonObject(value) &&
  typeof value.table === 'string' &&
  isTexts(value.columns) &&
  [value.table, ...value.columns].every((name) => /^[a-z_]+$/.test(name));

export const isRowsLine = (value: unknown): value is RowsLine =>
  isJsonObject(value) && typeof value.rows === 'number' && typeof value.sha256 === 'string';

export const isEndLine = (value: unknown): value is { readonly end: string; readonly sha256: string } =>
  isJsonObject(value) && value.end === FORMAT && typeof value.sha256 === 'string';
