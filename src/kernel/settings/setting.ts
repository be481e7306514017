/** One environment variable and its parser. `parse` throws an Error whose message completes the sentence "NAME ...". */
export interface Setting<T> {
  readonly name: string;
  /** One cell of the table of docs/settings.md, in Markdown. */
  readonly about: string;
  readonly example: string;
  readonly fallback: T;
  /** Says in the table what happens without the variable, if the fallback itself does not say it. */
  readonly fallbackText?: string;
  readonly parse: (text: string) => T;
  /** A message never quotes a secret value, even if it is invalid. */
  readonly isSecret?: true;
}

/** A table of settings. The key of a row is the name of its value. */
export type SettingsTable = Readonly<Record<string, Setting<unknown>>>;

/** The values of a table: what its parsers return, and undefined where that is the fallback. */
export type ValuesOf<Table extends SettingsTable> = {
  readonly [K in keyof Table]: ReturnType<Table[K]['parse']> | Extract<Table[K]['fallback'], undefined>;
};

/** Each fallback is a value of its setting. */
export type SettingsOf<Values> = { readonly [K in keyof Values]: Setting<Values[K]> };
