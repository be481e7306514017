const escaped = (control: string): string => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** A line without control characters but tabs: stored values and answers of services must not control the terminal. */
export const visibleLine = (line: string): string => line.replaceAll(/[^\P{Cc}\t]/gu, escaped);

/** The same for a text of several lines. */
export const visibleLines = (text: string): string => text.split('\n').map(visibleLine).join('\n');

/** Writes a line of data to stdout. Not by console.log, which hides a failed write: a full disk would look like success. */
export const print = (line: string): void => void process.stdout.write(`${visibleLine(line)}\n`);

/** Writes a line about the work to stderr. */
export const tell = (line: string): void => console.error(visibleLine(line));
