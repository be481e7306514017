import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { call, newIdempotencyKey, type Query } from './api.js';
import { useRights } from './caller.js';
import { History } from './history.js';
import { placeOf } from './places.js';
import { type Reading, useReading } from './reading.js';
import { goTo, hrefTo } from './route.js';
import { Heading, Question, Trouble } from './show.js';

interface ThingProps<T> {
  readonly place: string;
  readonly id: string;
  /** The heading while it is read. */
  readonly one: string;
  readonly query?: Query;
  readonly isLive?: boolean;
  readonly nameOf: (thing: T) => string;
  readonly marks?: (thing: T) => ComponentChildren;
  /** Whether the caller may change it. */
  readonly isMine: (thing: T) => boolean;
  /** Whether its own member reads its history: those of all else are for admins and auditors. */
  readonly hasOwnHistory?: (thing: T) => boolean;
  readonly left: (thing: T, reading: Reading<T>) => ComponentChildren;
  readonly right?: (thing: T) => ComponentChildren;
  /** What ends with it. Nothing is undone. */
  readonly ends: (thing: T) => ComponentChildren;
  /** The name that must be typed before it is deleted. */
  readonly typed?: (thing: T) => string;
}

/** The page of one entity: what it is, what happened to it, and its end. */
export function Thing<T extends { readonly id: string }>(props: ThingProps<T>) {
  const { place, id, one, query, isLive, nameOf, marks, isMine, hasOwnHistory, left, right, ends, typed } = props;
  const path = `${placeOf(place, id)?.path}/${encodeURIComponent(id)}`;
  const reading = useReading<T>(path, query, isLive);
  const { mayReadRecords } = useRights();
  const [isAsked, ask] = useState(false);
  const [name, setName] = useState('');
  const { data, failure, tag } = reading;
  if (data === undefined)
    return (
      <>
        <Heading title={one} />
        <Trouble failure={failure} />
      </>
    );
  const remove = async () => {
    await call('DELETE', path, { headers: { 'if-match': tag, 'idempotency-key': newIdempotencyKey() } });
    goTo(hrefTo([place]));
  };
  return (
    <>
      <Heading title={nameOf(data)}>
        {marks?.(data)}
        <code class="quiet long">{data.id}</code>
        {isMine(data) && (
          <span class="do">
            <a class="button" href={hrefTo([place, id, 'edit'])}>
              Change
            </a>
            <button type="button" class="end" onClick={() => ask(true)}>
              Delete
            </button>
          </span>
        )}
      </Heading>
      <Trouble failure={failure} />
      <div class="pair">
        <div>{left(data, reading)}</div>
        <section class="sheet">
          <div class="pad">
            {right?.(data)}
            {(mayReadRecords || hasOwnHistory?.(data)) && <History path={path} />}
          </div>
        </section>
      </div>
      {isAsked && (
        <Question
          title={`Delete ${nameOf(data)}?`}
          act="Delete it"
          onAct={remove}
          onClose={() => ask(false)}
          isReady={typed === undefined || name === typed(data)}
        >
          {ends(data)}
          <p>This cannot be undone.</p>
          {typed !== undefined && (
            <p>
              <label for="typed">Type {typed(data)} to delete it</label>
              <input
                id="typed"
                class="wide"
                autocomplete="off"
                value={name}
                onInput={({ currentTarget }) => setName(currentTarget.value)}
              />
            </p>
          )}
        </Question>
      )}
    </>
  );
}
