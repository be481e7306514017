import { CheckFailed } from '../../kernel/operator-error.js';
import { type Destination, serviceOf } from '../http/destination.js';
import { tell } from '../print.js';
import { progressOn } from '../progress.js';
import { type Columns, printItems } from '../table.js';
import { type CredentialBody, Left } from './left.js';
import { Sending, type Wanted } from './sending.js';

export interface ImportOptions extends Destination {
  readonly yes?: true;
  readonly owner?: string;
  readonly allowEverything?: true;
  readonly timezone?: Intl.DateTimeFormat;
}

/** A line of the report. */
interface Reported {
  readonly file: string;
  readonly line: number;
  readonly outcome: 'left' | 'new' | 'made' | 'there';
  /** Why it was left, or what it may do. */
  readonly what: string;
}

/** A line of a source: what it becomes, or why it is left. `next`: what its user does then. */
export type Read = Wanted & { readonly next?: string };
export type Source = Read | Reported;

const COLUMNS: Columns<Reported> = {
  FILE: ({ file, line }) => `${file}:${line}`,
  OUTCOME: ({ outcome }) => outcome,
  WHAT: ({ what }) => what,
};
const AT_ONCE = 32;

/** Makes all that is wanted, or compares it with what there is. Prints the report. Throws CheckFailed if a line is left. */
export async function importAll(source: readonly Source[], options: ImportOptions): Promise<void> {
  const api = await serviceOf(options);
  const isDry = options.yes !== true;
  const sending = await Sending.begin(
    api,
    isDry,
    source.some((one) => 'edge' in one),
  );
  const progress = progressOn(process.stderr);
  progress.begin(isDry ? 'compare' : 'import', 'lines', source.length);
  const report = await inParallel(source, async (one) => {
    const reported = 'outcome' in one ? one : await taken(sending, one);
    progress.add(1);
    return reported;
  });
  progress.done();
  printItems(report.map(visible), COLUMNS, options);
  const count = (wanted: Reported['outcome']): number => report.filter(({ outcome }) => outcome === wanted).length;
  const made = isDry ? `${count('new')} are new` : `${count('made')} made`;
  tell(`${report.length} lines at ${api.name}: ${made}, ${count('there')} there already, ${count('left')} left`);
  if (isDry && count('new') > 0) tell('nothing was changed; add --yes to make what is new');
  if (count('left') > 0) throw new CheckFailed();
}

async function taken(sending: Sending, { file, line, next, ...wanted }: Read): Promise<Reported> {
  try {
    const outcome = await sending.take({ file, line, ...wanted });
    return { file, line, outcome, what: next ?? rightsOf(wanted.credential) };
  } catch (error) {
    if (error instanceof Left) return { file, line, outcome: 'left', what: error.message };
    throw error;
  }
}

const rightsOf = ({ acl, source_cidrs, expires_at, description }: CredentialBody): string =>
  [
    acl.length === 0 ? 'everything' : acl.join(' '),
    ...(source_cidrs === undefined ? [] : [`from ${source_cidrs.join(' ')}`]),
    ...(expires_at === undefined ? [] : [`until ${expires_at}`]),
    ...(description ? [`(${description})`] : []),
  ].join(' ');

const visible = (one: Reported): Reported => ({
  ...one,
  file: one.file.replaceAll(/\p{Cc}/gu, '?'),
  what: one.what.replaceAll(/\p{Cc}/gu, '?'),
});

/** In the order of the items. After a failure no further one begins. */
async function inParallel<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  let [next, hasFailed] = [0, false];
  const worker = async (): Promise<void> => {
    for (let n = next++; n < items.length && !hasFailed; n = next++) {
      const item = items[n];
      if (item !== undefined) results[n] = await work(item);
    }
  };
  const failing = async (): Promise<void> =>
    worker().catch((error: unknown) => {
      hasFailed = true;
      throw error;
    });
  await Promise.all(Array.from({ length: AT_ONCE }, failing));
  return results;
}
