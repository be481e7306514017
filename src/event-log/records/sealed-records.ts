import { createHash, type Hash } from 'node:crypto';
import { dayOf, firstIdOf } from '../../kernel/ids.js';
import { isJsonObject, parseJsonObject } from '../../kernel/json-object.js';
import type { ReadModel } from '../read-model.js';
import type { RecordTable } from './record-lines.js';

/** The records of a day, as the ids have it. A day that is past its retention goes as a whole. */
interface SealedDay {
  readonly day: string;
  readonly count: number;
  /** Of the lines, each with its line feed, in the order of ids. In hex. */
  readonly sha256: string;
}

/** The records that settled from `from` on and before `to`, which is the end of an hour. Other records are not there. */
export interface SealedRecords {
  readonly from: string;
  readonly to: string;
  readonly kinds: Readonly<Partial<Record<RecordTable, readonly SealedDay[]>>>;
}

/** Storage format: the log holds this type for ever. */
export interface RecordsSealed {
  readonly type: 'records_sealed.v1';
  readonly data: SealedRecords;
}

/** It has no table. Each event has a stream of its own, and goes on where the one of the hour before ends. */
export const sealedRecordsReadModel: ReadModel<SealedRecords, RecordsSealed> = {
  streamPrefixes: ['rec'],
  events: { 'records_sealed.v1': { isStart: true } },
  evolve: (_, { data }) => data,
  tables: [],
};

/** What the data of an event says. Undefined if no service has written it. */
export function sealedIn(data: string): SealedRecords | undefined {
  const { from, to, kinds } = parseJsonObject(data) ?? {};
  if (typeof from !== 'string' || typeof to !== 'string' || !isJsonObject(kinds)) return undefined;
  const areDays = Object.values(kinds).every((days) => Array.isArray(days) && days.every(isJsonObject));
  return areDays ? { from, to, kinds } : undefined;
}

/** The stream of an hour, by its end: the same at every instance. */
export const sealedStreamOf = (to: string): string => firstIdOf('rec', new Date(to));

/** Takes the lines of one kind, in the order of ids. */
export class SealedDays {
  private readonly days = new Map<string, { count: number; readonly hash: Hash }>();

  add(id: string, line: string): void {
    const day = dayOf(id);
    const of = this.days.get(day) ?? { count: 0, hash: createHash('sha256') };
    this.days.set(day, of);
    of.count += 1;
    of.hash.update(`${line}\n`);
  }

  /** To be called once. */
  end(): readonly SealedDay[] {
    return [...this.days].map(([day, { count, hash }]) => ({ day, count, sha256: hash.digest('hex') }));
  }
}
