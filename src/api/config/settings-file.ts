/**
 * Reads a file of settings as systemd reads an `EnvironmentFile` (systemd.exec(5)), so that a unit and a command may share
 * one: `NAME=value` lines; `#` and `;` begin comments; single quotes keep everything, double quotes all but `\` before
 * one of `"\$` and a backtick; without quotes a `\` keeps the next character, and blanks at both ends go. Nothing is expanded.
 * A line without `=` or with another name is an Error here; systemd passes it over with a warning.
 */
export function parseSettingsFile(text: string): ReadonlyMap<string, string> {
  const settings = new Map<string, string>();
  const source = new Source(text.replaceAll(/\r\n?/g, '\n'));
  while (!source.isAtEnd) {
    source.skip(/\s*/y);
    if (source.skip(/[#;][^\n]*/y) !== '' || source.isAtEnd) continue;
    const [line, name] = [source.line, source.skip(/[^=\n]*/y).trim()];
    if (source.skip(/=/y) === '') throw new Error(`line ${line} has no '='`);
    if (!/^[A-Za-z_]\w*$/.test(name)) throw new Error(`line ${line} has no name of a variable before its '='`);
    settings.set(name, valueIn(source));
  }
  return settings;
}

const ESCAPED_IN_QUOTES = /\\(["\\`$]|\n)/g;

/** Quoted parts may follow each other. What is not quoted lasts until the end of the line. */
function valueIn(source: Source): string {
  let value = '';
  for (;;) {
    source.skip(/[^\S\n]*/y);
    const line = source.line;
    const [single, double] = [source.skip(/'[^']*'/y), source.skip(/"(?:[^"\\]|\\[\s\S])*"/y)];
    if (single !== '') value += single.slice(1, -1);
    else if (double !== '') value += double.slice(1, -1).replace(ESCAPED_IN_QUOTES, withoutBreak);
    else if (source.skip(/['"]/y) !== '') throw new Error(`line ${line} has a quote without its end`);
    else break;
  }
  const units = source.skip(/(?:[^\\\n]|\\[\s\S]|\\$)*/y).match(/\\[\s\S]?|[^\\]/g) ?? [];
  source.skip(/\n/y);
  while (/^(\s|\\\n)$/.test(units.at(-1) ?? '')) units.pop();
  return value + units.map((unit) => unit.replace(/^\\([\s\S]?)/, withoutBreak)).join('');
}

/** A line that ends with `\` goes on in the next one. */
const withoutBreak = (_: string, escaped: string): string => (escaped === '\n' ? '' : escaped);

class Source {
  private at = 0;

  constructor(private readonly text: string) {}

  get isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  get line(): number {
    return this.text.slice(0, this.at).split('\n').length;
  }

  /** What the sticky pattern finds here; empty if nothing. */
  skip(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const [found = ''] = pattern.exec(this.text) ?? [];
    this.at += found.length;
    return found;
  }
}
