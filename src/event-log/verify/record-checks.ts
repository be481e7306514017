import type { Client } from 'pg';
import { fetchRows, onlyRow } from '../../database/index.js';
import { dayOf } from '../../kernel/ids.js';
import { IN_UTC, RECORD_TABLES, type RecordTable, recordLine } from '../records/record-lines.js';
import { type RecordsSealed, SealedDays, type SealedRecords, sealedIn } from '../records/sealed-records.js';
import type { LoggedEvent } from './logged-event.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const TYPE: RecordsSealed['type'] = 'records_sealed.v1';

interface RecordRow {
  readonly id: string;
  readonly settled: number;
  readonly line: string;
}

const ROWS_OF = (table: RecordTable): string => `select t.id, ${recordLine(table)} as line,
    (extract(epoch from t.settled_at) * 1000)::float8 as settled
  from ${table} t where t.account_id = $1 order by t.id`;

/** The day of the oldest partition: the rows of days before it may be past their retention. */
const OLDEST = `select min(to_char(to_date(right(c.relname, 8), 'YYYYMMDD'), 'YYYY-MM-DD')) as day
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = to_regclass($1) and c.relname ~ '_[0-9]{8}$'`;

/** What is not a fault. It concerns all accounts that were checked. */
export interface RecordNotes {
  /** When the first record settled that is not sealed, in milliseconds since 1970. */
  unsealedFrom: number | undefined;
  /** The last day of which records are missing that may be past their retention. */
  goneUntil: string | undefined;
}

/** Compares the records of one account with what its events say of them. */
export class RecordChecks {
  private readonly sealed: (SealedRecords & { readonly position: number })[] = [];

  constructor(
    private readonly report: (what: string) => void,
    private readonly notes: RecordNotes,
  ) {}

  add({ type, data, position, recorded_at }: LoggedEvent): void {
    if (type !== TYPE) return;
    const sealed = sealedIn(data);
    const before = this.sealed.at(-1)?.to ?? sealed?.from;
    const follows = sealed?.from === before && (before ?? '') < (sealed?.to ?? '');
    if (sealed !== undefined && follows && sealed.to <= recorded_at) this.sealed.push({ ...sealed, position });
    else this.report(`position ${position}: the hours of its records do not follow those of the event before`);
  }

  /** Reads all records of the account, in the order of ids. */
  async end(client: Client, account: string): Promise<void> {
    await client.query(IN_UTC.text);
    for (const table of RECORD_TABLES) {
      const found = this.sealed.map(() => new SealedDays());
      const { rows } = await client.query<{ day: string | null }>(OLDEST, [table]);
      let oldest = onlyRow(rows).day ?? '';
      for await (const records of fetchRows<RecordRow & object>(client, ROWS_OF(table), [account])) {
        for (const { id, settled, line } of records) {
          // An imported row has no partition of its day. A row that came later may be of a day that is gone.
          const day = dayOf(id);
          if (day < oldest && settled < Date.parse(day) + 2 * DAY_MS) oldest = day;
          this.daysAt(settled, found)?.add(id, line);
        }
      }
      for (const [n, days] of found.entries()) this.compare(n, table, days, oldest);
    }
  }

  /** The days of the hour in which a record settled. Undefined: it is not sealed yet. */
  private daysAt(settled: number, found: readonly SealedDays[]): SealedDays | undefined {
    let [low, high] = [0, this.sealed.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (Date.parse(this.sealed[middle]?.to ?? '') > settled) high = middle;
      else low = middle + 1;
    }
    if (low === this.sealed.length)
      this.notes.unsealedFrom = Math.min(settled, this.notes.unsealedFrom ?? Number.POSITIVE_INFINITY);
    return found[low];
  }

  private compare(n: number, table: RecordTable, found: SealedDays, oldest: string): void {
    const { to = '', kinds = {}, position } = this.sealed[n] ?? {};
    const [was, is] = [kinds[table] ?? [], found.end()].map((days) => new Map(days.map((one) => [one.day, one])));
    for (const day of new Set([...(was?.keys() ?? []), ...(is?.keys() ?? [])])) {
      const [sealed, there] = [was?.get(day), is?.get(day)];
      if (sealed?.sha256 === there?.sha256) continue;
      const [wasThere, isThere] = [sealed?.count ?? 0, there?.count ?? 0];
      // A purge adds none.
      if (day < oldest && isThere < wasThere) this.notes.goneUntil = [this.notes.goneUntil ?? '', day].toSorted()[1];
      else
        this.report(
          `the hour before ${to}: ${table} of ${day} are not those that were sealed: ${wasThere} were sealed at position ${position}, and ${isThere} are there`,
        );
    }
  }
}

/** The sentences for what is not a fault. */
export function sentencesOf({ unsealedFrom, goneUntil }: RecordNotes): string[] {
  const unsealed = `records are not sealed yet from ${new Date(unsealedFrom ?? 0).toISOString()} on`;
  const gone = `sealed records of ${goneUntil} or before are gone, which are older than all partitions: a purge by age cannot be told from a removal`;
  return [...(unsealedFrom === undefined ? [] : [unsealed]), ...(goneUntil === undefined ? [] : [gone])];
}
