import { CheckFailed, Interrupted } from '../../kernel/operator-error.js';
import { type Destination, serviceOf } from '../http/destination.js';
import { tell } from '../print.js';
import { progressOn } from '../progress.js';
import { type Columns, printItems } from '../table.js';
import { untilStopped } from '../until-stopped.js';
import { type CredentialBody, Left, type Place } from './left.js';
import { Sending, type Wanted } from './sending.js';

export interface ImportOptions extends Destination {
  readonly yes?: true;
  readonly owner?: string;
  readonly allowEverything?: true;
  /** The zone of times without one. Absent: such a line is left. */
  readonly timezone?: Intl.DateTimeFormat;
}

/** A line of a source. `read` throws Left. `next`: what its user does then. */
export interface Line extends Place {
  read(): Omit<Wanted, 'line'> & { readonly next?: string };
}

/** A line of the report. */
interface Reported extends Place {
  readonly outcome: 'left' | 'new' | 'made' | 'there';
  /** Why it was left, or what it may do. */
  readonly what: string;
}

const COLUMNS: Columns<Reported> = {
  FILE: ({ file, line }) => `${file}:${line}`,
  OUTCOME: ({ outcome }) => outcome,
  WHAT: ({ what }) => what,
};
const AT_ONCE = 32;

/** Makes what the lines want, or compares it with what there is. Prints the report. Throws CheckFailed if a line is left. */
export async function importAll(lines: readonly Line[], options: ImportOptions): Promise<void> {
  const api = await serviceOf(options);
  const stop = untilStopped();
  const isDry = options.yes !== true;
  const sending = await Sending.begin(api, isDry, stop);
  const progress = progressOn(process.stderr);
  progress.begin(isDry ? 'compare' : 'import', 'lines', lines.length);
  const report: Reported[] = [];
  // A worker that fails ends this generator, so the others begin no further line.
  const waiting = (function* () {
    yield* lines.entries();
  })();
  const work = async (): Promise<void> => {
    for (const [n, line] of waiting) {
      stop.throwIfAborted();
      report[n] = await reportOf(line, sending);
      progress.add(1);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work)).catch((error: unknown) => {
    throw stop.aborted ? new Interrupted('stopped; run the import again: it makes nothing twice') : error;
  });
  progress.done();
  printItems(report, COLUMNS, options);
  const count = (wanted: Reported['outcome']): number => report.filter(({ outcome }) => outcome === wanted).length;
  const made = isDry ? `${count('new')} are new` : `${count('made')} made`;
  tell(`${report.length} lines at ${api.name}: ${made}, ${count('there')} there already, ${count('left')} left`);
  if (isDry && count('new') > 0) tell('nothing was changed; add --yes to make what is new');
  if (count('left') > 0) throw new CheckFailed();
}

async function reportOf({ file, line, read }: Line, sending: Sending): Promise<Reported> {
  const row = (outcome: Reported['outcome'], what: string) => ({
    file: visible(file),
    line,
    outcome,
    what: visible(what),
  });
  try {
    const { next, ...wanted } = read();
    return row(await sending.take({ ...wanted, line }), next ?? rightsOf(wanted.credential));
  } catch (error) {
    if (error instanceof Left) return row('left', error.message);
    throw error;
  }
}

const visible = (text: string): string => text.replaceAll(/\p{Cc}/gu, '?');

const rightsOf = ({ acl, source_cidrs, expires_at, description }: CredentialBody): string =>
  [
    acl.join(' ') || 'everything',
    source_cidrs && `from ${source_cidrs.join(' ')}`,
    expires_at && `until ${expires_at}`,
    description && `(${description})`,
  ]
    .filter(Boolean)
    .join(' ');

export const owned = (body: CredentialBody, { owner }: ImportOptions): CredentialBody =>
  owner === undefined ? body : { ...body, owner_id: owner };
