import { useRef, useState } from 'preact/hooks';
import { useRights } from './caller.js';
import type { HistoryPage } from './history.js';
import { placeOf } from './places.js';
import { useReading } from './reading.js';
import { asOf, goTo, hrefTo, useRoute } from './route.js';
import { localTime, zone } from './show.js';

const local = (time: string): string =>
  new Date(time).toLocaleString('en-GB', { dateStyle: 'full', timeStyle: 'medium' });

/** The one control of the moment: an exact time, or a version of what the page shows. */
export function AsOf() {
  const route = useRoute();
  const dialog = useRef<HTMLDialogElement>(null);
  const [time, setTime] = useState('');
  const [isOpen, setOpen] = useState(false);
  const moment = asOf();
  // A member reads the history of what it owns only: that page has the same stops.
  const { mayReadRecords } = useRights();
  const [place, id] = route.path;
  const hasVersions = isOpen && mayReadRecords && id !== undefined && id !== 'new';
  const { data } = useReading<HistoryPage>(
    hasVersions ? `${placeOf(place, id)?.path}/${encodeURIComponent(id)}/events` : undefined,
    { limit: '100', as_of: undefined },
  );
  const go = (as_of: string | undefined) => {
    dialog.current?.close();
    goTo(hrefTo(route.path, { as_of }));
  };
  const openDialog = () => {
    setOpen(true);
    dialog.current?.showModal();
  };
  return (
    <>
      <button type="button" aria-haspopup="dialog" onClick={openDialog}>
        {moment === undefined ? 'As of now' : `As of ${new Date(moment).toLocaleString('en-GB')}`}
      </button>
      <dialog ref={dialog} aria-labelledby="moment" onClose={() => setOpen(false)}>
        <h2 id="moment">Show what was so at a moment</h2>
        <form
          class="row"
          onSubmit={(event) => {
            event.preventDefault();
            go(new Date(time).toISOString());
          }}
        >
          <div>
            <label for="as-of">Time, {zone()}</label>
            <input
              id="as-of"
              type="datetime-local"
              step={1}
              max={localTime(new Date().toISOString())}
              required
              value={time}
              onInput={({ currentTarget }) => setTime(currentTarget.value)}
            />
          </div>
          <button type="submit" class="first">
            Show it
          </button>
        </form>
        {data !== undefined && data.events.length > 0 && (
          <p>
            <label for="version">or after a change of what this page shows</label>
            <select id="version" value="" onChange={({ currentTarget }) => go(currentTarget.value)}>
              <option value="">Choose</option>
              {data.events.map(({ position, version, time: at }) => (
                <option key={position} value={at}>
                  {version}: {local(at)}
                </option>
              ))}
            </select>
          </p>
        )}
        <div class="row">
          {moment !== undefined && (
            <button type="button" onClick={() => go(undefined)}>
              Back to now
            </button>
          )}
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </div>
      </dialog>
    </>
  );
}

/** As of a moment the whole page stands under it, and nothing can be changed. */
export function ThenBanner() {
  const { path } = useRoute();
  const moment = asOf();
  if (moment === undefined) return null;
  return (
    <div class="banner" role="status">
      <span>
        <b>
          {local(moment)} ({zone()}).
        </b>{' '}
        What you see was so then. Nothing can be changed here.
      </span>
      <a class="button" href={hrefTo(path, { as_of: undefined })}>
        Back to now
      </a>
    </div>
  );
}
