/** `wrong`: the service cannot work like this. `warning`: it works, but not as it should. */
type Level = 'ok' | 'warning' | 'wrong';

/** What a check found and, unless it is ok, what to do about it. */
export interface Finding {
  readonly level: Level;
  readonly text: string;
}

export const ok = (text: string): Finding => ({ level: 'ok', text });
export const warning = (text: string): Finding => ({ level: 'warning', text });
export const wrong = (text: string): Finding => ({ level: 'wrong', text });

/** The line of a finding: the level, the name of the check, and the text. */
export const lineOf = (check: string, { level, text }: Finding): string =>
  `${level.padEnd(8)} ${check.padEnd(11)} ${text}`;
