/** Writes a line of data to stdout. Not by console.log, which hides a failed write: a full disk would look like success. */
export const print = (line: string): void => void process.stdout.write(`${line}\n`);
