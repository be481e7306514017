const MAX_SHOWN = 100;

/** The beginning of a long text, as a copy: a slice would keep the whole text in memory. */
export const shortened = (text: string): string =>
  text.length <= MAX_SHOWN ? text : `${Buffer.from(text.slice(0, MAX_SHOWN)).toString()}...`;
