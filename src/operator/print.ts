const escaped = (control: string): string => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Escapes all control characters but tabs: stored values and answers of a service must not control the terminal. */
export const visibleLine = (line: string): string => line.replaceAll(/[^\P{Cc}\t]/gu, escaped);

/** Does the same for a text of several lines. */
export const visibleLines = (text: string): string => text.split('\n').map(visibleLine).join('\n');

/** Writes a line of data to stdout. console.log would hide a failed write, so that a full disk looks like success. */
export const print = (line: string): void => void process.stdout.write(`${visibleLine(line)}\n`);

/** Writes a line about the work to stderr. */
export const tell = (line: string): void => console.error(visibleLine(line));
