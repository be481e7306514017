import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Failure } from './api.js';

/** How facts are shown: times, bytes, texts to copy, failures. What is not known is never shown as zero. */

const UNITS: readonly (readonly [number, string])[] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
];

function sinceText(time: string, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1_000));
  const [size, unit] = UNITS.find(([size]) => seconds >= size) ?? [1, 's'];
  return `${Math.floor(seconds / size)} ${unit}`;
}

/** A relative time. On focus or under the pointer it shows the local time and UTC. */
export function Time({ at, ago = true }: { readonly at: string; readonly ago?: boolean }) {
  const date = new Date(at);
  const isLater = date.getTime() > Date.now();
  const local = date.toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
  const between = sinceText(isLater ? new Date().toISOString() : at, isLater ? date.getTime() : Date.now());
  const relative = isLater ? `in ${between}` : `${between}${ago ? ' ago' : ''}`;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: its two clocks are for those without a pointer too
    <time dateTime={at} class="when" tabIndex={0}>
      {relative}
      <span class="tip">
        {local} here
        <br />
        {date.toISOString().replace('T', ' ').slice(0, 19)} UTC
      </span>
    </time>
  );
}

export function bytesText(bytes: number | null): string {
  if (bytes === null) return 'not known';
  if (bytes < 1_000) return `${bytes} B`;
  for (const [size, unit] of [
    [1e9, 'GB'],
    [1e6, 'MB'],
  ] as const)
    if (bytes >= size) return `${(bytes / size).toFixed(1)} ${unit}`;
  return `${Math.round(bytes / 1e3)} kB`;
}

/** A `datetime-local` has the zone of the browser. */
export const localTime = (time: string | undefined): string => {
  if (time === undefined) return '';
  const at = new Date(time);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
};

/** The zone of what a person types. */
export const zone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Control characters are shown as `?`: a name cannot draw over the page or turn its direction. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
export const plain = (text: string): string => text.replace(UNSEEN, '?');

/** A device has the name that its description gives it. Without one the end of its id stands for it. */
export const nameOf = ({ id, description }: { readonly id: string; readonly description: string }): string =>
  plain(description.trim()) || `unnamed, ${id.slice(-6)}`;

export function Mark({ kind = '', children }: { readonly kind?: string; readonly children: ComponentChildren }) {
  return <span class={`mark ${kind}`}>{children}</span>;
}

export function Trouble({ failure }: { readonly failure: Failure | undefined }) {
  if (failure === undefined) return null;
  return (
    <p class="answer no" role="alert">
      <b>{plain(failure.sentence)}</b> {failure.wayOut}
    </p>
  );
}

/** A line to copy. Without a clipboard (plain HTTP) the text is selected instead. */
export function Copyable({ text }: { readonly text: string }) {
  const line = useRef<HTMLElement>(null);
  const [said, say] = useState('');
  const copy = async () => {
    const done = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    );
    if (!done && line.current !== null) getSelection()?.selectAllChildren(line.current);
    say(done ? 'Copied.' : 'Selected: copy it with Ctrl+C.');
  };
  return (
    <p>
      <code class="long" ref={line}>
        {text}
      </code>{' '}
      <button type="button" onClick={() => void copy()}>
        Copy
      </button>{' '}
      <small role="status">{said}</small>
    </p>
  );
}

/** The heading of a page: it has the focus when one comes here, and gives the tab its title. */
export function Heading({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · tunnel-access`;
    heading.current?.focus();
  }, [title]);
  return (
    <div class="title">
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {children}
    </div>
  );
}

/** One a line, as a person writes them. */
export function Lines({ of }: { readonly of: readonly string[] }) {
  return (
    <ul class="rules">
      {of.map((line) => (
        <li key={line}>
          <code class="long">{plain(line)}</code>
        </li>
      ))}
    </ul>
  );
}

interface QuestionProps {
  readonly title: string;
  readonly act: string;
  readonly onAct: () => Promise<unknown>;
  readonly onClose: () => void;
  /** False: the act waits for what must be typed. */
  readonly isReady?: boolean;
  readonly children: ComponentChildren;
}

/** A question before something ends. "Leave it" has the focus, and a failure stays in the dialog. */
export function Question({ title, act, onAct, onClose, isReady = true, children }: QuestionProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [failure, setFailure] = useState<Failure>();
  useEffect(() => dialog.current?.showModal(), []);
  const close = () => dialog.current?.close();
  return (
    <dialog ref={dialog} aria-labelledby="question" onClose={onClose}>
      <h2 id="question">{title}</h2>
      {children}
      <Trouble failure={failure} />
      <div class="row">
        <button type="button" class="end" disabled={!isReady} onClick={() => void onAct().then(close, setFailure)}>
          {act}
        </button>
        <button type="button" class="first" autofocus onClick={close}>
          Leave it
        </button>
      </div>
    </dialog>
  );
}

interface ChoiceProps {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, words: string])[];
  readonly onChoose: (value: string) => void;
}

export function Choice({ id, label, value, options, onChoose }: ChoiceProps) {
  return (
    <div>
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
        {options.map(([option, words]) => (
          <option key={option} value={option}>
            {words}
          </option>
        ))}
      </select>
    </div>
  );
}

/** One entry a line, as a person types rules and networks. */
export const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
