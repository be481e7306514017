import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { callForTag, type Failure, newIdempotencyKey } from './api.js';
import { Diff } from './history.js';
import { asOf, goTo, hrefTo } from './route.js';
import { Heading, linesOf, Trouble } from './show.js';

/** What a form holds: texts by the name of the field. A field of lines has one entry a line. */
export type Values = Readonly<Record<string, string>>;

export interface Field {
  readonly name: string;
  readonly label: string;
  /** `key`: lines that may come from a .pub file. `time`: in the zone of the browser. `many`: each option may be chosen. */
  readonly kind?: 'text' | 'lines' | 'key' | 'time' | 'many';
  readonly options?: readonly (readonly [value: string, words: string])[];
  readonly hint?: string;
  readonly placeholder?: string;
  readonly isRequired?: boolean;
}

/** One call of a save, behind the path of what is changed. Each is an event of its own. */
export type Change = readonly [method: string, at: string, body?: object];

interface FormProps<T> {
  readonly title: (base: T | undefined) => string;
  /** Of the entity, or of the list for a new one. */
  readonly path: string;
  readonly isNew?: boolean;
  readonly fields: readonly Field[];
  readonly valuesOf: (base: T | undefined) => Values;
  readonly changesOf: (values: Values, was: Values) => readonly Change[];
  /** The words of the button. */
  readonly act: string;
  readonly back: string;
  readonly onDone?: (answer: T) => void;
  readonly beside?: (values: Values, base: T | undefined) => ComponentChildren;
}

/**
 * The form of a new entity or of an edit. An edit sends the ETag that it began with; if somebody was first, their change
 * is shown. What is wrong with a field is said by the API's own sentence.
 */
export function Form<T extends { readonly id: string }>(props: FormProps<T>) {
  const { title, path, isNew = false, fields, valuesOf, changesOf, act, back, onDone, beside } = props;
  const [base, setBase] = useState<{ readonly data: T; readonly tag: string }>();
  const [theirs, setTheirs] = useState<typeof base>();
  const [values, setValues] = useState<Values>(valuesOf(undefined));
  const [failure, setFailure] = useState<Failure>();
  const [isBusy, setBusy] = useState(false);
  /** A second press of the button, or one after a lost answer, makes nothing twice. */
  const keys = useRef(new Map<string, string>());
  /** A new entity whose later part was refused. */
  const made = useRef<{ readonly data: T; readonly text: string }>(undefined);
  const read = () => callForTag<T>('GET', path);
  const begin = (with_: { readonly data: T; readonly tag: string }) => {
    setBase(with_);
    setTheirs(undefined);
    setFailure(undefined);
    setValues(valuesOf(with_.data));
  };
  useEffect(() => {
    if (!isNew) read().then(begin, setFailure);
  }, [path]);
  const was = valuesOf(base?.data);
  const send = (method: string, at: string, body: object | undefined, tag: string) => {
    const text = JSON.stringify([method, at, body]);
    const key = keys.current.get(text) ?? newIdempotencyKey();
    keys.current.set(text, key);
    const headers = { ...(tag && { 'if-match': tag }), 'idempotency-key': key };
    return callForTag<T>(method, at, { headers, ...(body !== undefined && { body }) });
  };
  const create = async (): Promise<T> => {
    const [[, , body] = ['POST', ''], ...parts] = changesOf(values, was);
    const text = JSON.stringify(body);
    const { current: before } = made;
    const pathOf = (id: string) => `${path}/${encodeURIComponent(id)}`;
    const data = before?.data ?? (await send('POST', path, body, '')).data;
    if (before !== undefined && before.text !== text) await send('PATCH', pathOf(data.id), body, '');
    made.current = { data, text };
    for (const [method, at, part] of parts) await send(method, `${pathOf(data.id)}${at}`, part, '');
    return data;
  };
  const save = async (event: Event) => {
    event.preventDefault();
    setFailure(undefined);
    setBusy(true);
    let tag = base?.tag ?? '';
    try {
      if (isNew) {
        const data = await create();
        if (onDone !== undefined) onDone(data);
        else goTo(hrefTo([back, data.id]));
        return;
      }
      for (const [method, at, body] of changesOf(values, was))
        tag = (await send(method, `${path}${at}`, body, tag)).tag || (await read()).tag;
      goTo(hrefTo([back, base?.data.id ?? '']));
    } catch (caught) {
      setFailure(caught as Failure);
      // A part may be saved: the next try begins after it, and still meets what others change.
      if (!isNew && tag !== base?.tag)
        await read().then(
          ({ data }) => setBase({ data, tag }),
          () => undefined,
        );
      if ((caught as Failure).status === 412) await read().then(setTheirs, () => undefined);
    }
    setBusy(false);
  };
  if (!isNew && base === undefined)
    return (
      <>
        <Heading title={title(undefined)} />
        <Trouble failure={failure} />
      </>
    );
  return (
    <>
      <Heading title={title(base?.data)} />
      <div class={beside && 'pair'}>
        <section class="sheet">
          <form class="pad" onSubmit={(event) => void save(event)}>
            {fields.map((field) => (
              <Input
                key={field.name}
                field={field}
                value={values[field.name] ?? ''}
                onValue={(value) => setValues((before) => ({ ...before, [field.name]: value }))}
              />
            ))}
            <Trouble failure={failure} />
            {theirs !== undefined && (
              <div role="status">
                <p>Meanwhile somebody changed it:</p>
                {fields.map(({ name, label }) => (
                  <Diff
                    key={name}
                    name={label}
                    from={linesOf(was[name] ?? '')}
                    to={linesOf(valuesOf(theirs.data)[name] ?? '')}
                  />
                ))}
                <p>
                  <button type="button" onClick={() => begin(theirs)}>
                    Begin again with theirs
                  </button>
                </p>
              </div>
            )}
            <p>
              <button type="submit" class="first" disabled={isBusy || asOf() !== undefined}>
                {act}
              </button>{' '}
              <a class="button" href={hrefTo([back, ...(base === undefined ? [] : [base.data.id])])}>
                Cancel
              </a>
            </p>
          </form>
        </section>
        {beside && (
          <section class="sheet">
            <div class="pad">{beside(values, base?.data)}</div>
          </section>
        )}
      </div>
    </>
  );
}

interface InputProps {
  readonly field: Field;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

function Input({ field, value, onValue }: InputProps) {
  const { name, label, kind = 'text', options = [], hint, placeholder, isRequired } = field;
  const typed = ({ currentTarget }: { currentTarget: { value: string } }) => onValue(currentTarget.value);
  const common = { id: name, value, required: isRequired, placeholder, onInput: typed };
  const chosen = linesOf(value);
  const described = hint ? { 'aria-describedby': `${name}-hint` } : {};
  if (kind === 'many')
    return (
      <fieldset>
        <legend>{label}</legend>
        {options.map(([option, words]) => (
          <label key={option} class="check">
            <input
              type="checkbox"
              checked={chosen.includes(option)}
              onChange={({ currentTarget }) =>
                onValue(
                  (currentTarget.checked ? [...chosen, option] : chosen.filter((one) => one !== option)).join('\n'),
                )
              }
            />{' '}
            {words}
          </label>
        ))}
        <small>{options.length === 0 ? 'There is none yet.' : hint}</small>
      </fieldset>
    );
  return (
    <p>
      {kind === 'key' && (
        <>
          <label for="file">{label}, as a file</label>
          <input
            id="file"
            type="file"
            accept=".pub"
            onChange={({ currentTarget }) =>
              void currentTarget.files?.[0]
                ?.slice(0, 65_536)
                .text()
                .then((text) => onValue(text.trim()))
            }
          />
        </>
      )}
      <label for={name}>{kind === 'key' ? 'or as text' : label}</label>
      {kind === 'lines' || kind === 'key' ? (
        <textarea rows={3} {...common} {...described} />
      ) : options.length > 0 ? (
        <select id={name} value={value} onChange={typed} {...described}>
          {options.map(([option, words]) => (
            <option key={option} value={option}>
              {words}
            </option>
          ))}
        </select>
      ) : (
        <input
          class={kind === 'time' ? undefined : 'wide'}
          {...(kind === 'time' && { type: 'datetime-local', step: 1 })}
          {...common}
          {...described}
        />
      )}
      {hint && <small id={`${name}-hint`}>{hint}</small>}
    </p>
  );
}
