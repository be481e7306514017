import { ownerName, useOwners } from './names.js';
import { useReading } from './reading.js';
import { hrefTo, useRoute } from './route.js';
import { plain, Time, Trouble } from './show.js';

interface FieldChange {
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}
interface HistoryEvent {
  readonly position: number;
  readonly version: number;
  readonly type: string;
  readonly time: string;
  readonly actor: string;
  readonly api_key_id: string | null;
  readonly ip: string | null;
  readonly changes: readonly FieldChange[];
}
export interface HistoryPage {
  readonly events: readonly HistoryEvent[];
  readonly next_page_uri: string | null;
}

const WORDS: readonly (readonly [RegExp, string])[] = [
  [/_created\./, 'Created'],
  [/_expiry_changed\./, 'Expiry set'],
  [/_source_restriction_changed\./, 'Networks set'],
  [/_role_changed\./, 'Role set'],
  [/_deleted\./, 'Deleted'],
  [/./, 'Changed'],
];
/** A moment has every event up to its millisecond. */
const before = (time: string): string => new Date(Date.parse(time) - 1).toISOString();
const wordOf = (type: string): string => WORDS.find(([pattern]) => pattern.test(type))?.[1] ?? type;

const linesOf = (value: unknown): string[] => {
  if (value === null || value === undefined || value === '') return [];
  if (Array.isArray(value)) return value.flatMap(linesOf);
  if (typeof value !== 'object') return [String(value)];
  return Object.entries(value).map(([name, part]) => `${name.replaceAll('_', ' ')}: ${linesOf(part).join(', ')}`);
};

/** What a change took out and put in. Lines that both have are left out. */
export function Diff({ from, to, name }: { readonly from: unknown; readonly to: unknown; readonly name?: string }) {
  const [before, after] = [linesOf(from), linesOf(to)];
  const gone = before.filter((line) => !after.includes(line));
  const come = after.filter((line) => !before.includes(line));
  if (gone.length + come.length === 0) return null;
  return (
    <div class="diff long">
      {name && <span class="quiet">{name.replaceAll('_', ' ')}</span>}
      {gone.map((line) => (
        <del key={line}>- {plain(line)}</del>
      ))}
      {come.map((line) => (
        <ins key={line}>+ {plain(line)}</ins>
      ))}
    </div>
  );
}

/** Who changed it, when, with which key: before and after. Newest first. */
export function History({ path }: { readonly path: string }) {
  const route = useRoute();
  const owners = useOwners();
  const { data, failure } = useReading<HistoryPage>(`${path}/events`, { limit: '100' });
  return (
    <>
      <h2>What happened</h2>
      <Trouble failure={failure} />
      <ol class="time">
        {[...(data?.events ?? [])].reverse().map((event) => (
          <li key={event.position}>
            <b>{wordOf(event.type)}</b>{' '}
            <span class="quiet">
              <Time at={event.time} /> · {ownerName(owners, event.actor)}
              {event.api_key_id !== null && (
                <>
                  {' '}
                  with <a href={hrefTo(['keys', event.api_key_id])}>key {event.api_key_id.slice(-6)}</a>
                </>
              )}{' '}
              · see it {event.version > 1 && <a href={hrefTo(route.path, { as_of: before(event.time) })}>before</a>}{' '}
              <a href={hrefTo(route.path, { as_of: event.time })}>after</a>
            </span>
            {event.changes.map(({ field, from, to }) => (
              <Diff key={field} name={field} from={from} to={to} />
            ))}
          </li>
        ))}
      </ol>
      {data?.next_page_uri != null && <p class="quiet">Only its first 100 changes are shown here.</p>}
    </>
  );
}
