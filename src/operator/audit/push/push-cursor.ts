import { access, constants, readFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { messageOf } from '../../../kernel/error-message.js';
import { parseJsonObject } from '../../../kernel/json-object.js';
import { UsageError } from '../../../kernel/operator-error.js';
import { writeWholeFile } from '../../files/whole-file.js';
import type { LogEvent } from './event-feed.js';

/**
 * The last event that a collector has accepted, with its id: after a restore another event may have the same position.
 */
export interface Cursor extends LogEvent {
  /** The URL of the collector without its query. */
  readonly collector: string;
}

/** Undefined if the file does not exist. Throws UsageError if it holds no cursor: a guess could lose events. */
export async function readCursor(file: string): Promise<Cursor | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new UsageError(`the cursor cannot be read: ${messageOf(error)}`);
  });
  return text === undefined ? undefined : parseCursor(file, text);
}

function parseCursor(file: string, text: string): Cursor {
  const { account, collector, position, event_id: eventId } = parseJsonObject(text) ?? {};
  const isPosition = typeof position === 'number' && Number.isSafeInteger(position) && position > 0;
  if (isPosition && [account, collector, eventId].every((value) => typeof value === 'string')) {
    return { account, collector, position, eventId } as Cursor;
  }
  throw new UsageError(`${file} is not a file that audit push wrote: name another one with --cursor`);
}

/**
 * Throws UsageError if the cursor cannot be written. Called before the first batch, which could not be noted otherwise.
 */
export async function requireWritable(file: string): Promise<void> {
  await access(path.dirname(file), constants.W_OK).catch((error: unknown) => {
    throw new UsageError(`the cursor cannot be written: ${messageOf(error)}`);
  });
}

/** The file has either the old or the new cursor, also after a loss of power. */
export const writeCursor = (file: string, { eventId, ...cursor }: Cursor): Promise<void> =>
  writeWholeFile(file, (output) => pipeline([`${JSON.stringify({ ...cursor, event_id: eventId })}\n`], output));
