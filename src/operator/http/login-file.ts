import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseJsonObject } from '../../kernel/json-object.js';
import { UsageError } from '../../kernel/operator-error.js';

/** A service, and the API key that was given for it. */
export interface Login {
  readonly url: string;
  readonly key: string;
}

const OTHERS = 0o077;

/** `$XDG_CONFIG_HOME/tunnel-access/login.json`. */
export function loginFile(): string {
  const { XDG_CONFIG_HOME: folder = '' } = process.env;
  return join(folder === '' ? join(homedir(), '.config') : folder, 'tunnel-access', 'login.json');
}

/** Undefined if there is none. Throws UsageError for a file that others can read, or that is no login. */
export function readLogin(): Login | undefined {
  const file = loginFile();
  const mode = statSync(file, { throwIfNoEntry: false })?.mode;
  if (mode === undefined) return undefined;
  if ((mode & OTHERS) !== 0) throw new UsageError(`others can read ${file}, which holds a key; run: chmod 600 ${file}`);
  const { url, key } = parseJsonObject(readFileSync(file, 'utf8')) ?? {};
  if (typeof url === 'string' && URL.canParse(url) && typeof key === 'string') return { url, key };
  throw new UsageError(`${file} is no login; run tunnel-access login again`);
}

/** The file appears whole, and only this user can read it. */
export function writeLogin(login: Login): void {
  const file = loginFile();
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const unfinished = `${file}.${process.pid}.new`;
  try {
    writeFileSync(unfinished, `${JSON.stringify(login)}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(unfinished, file);
  } finally {
    rmSync(unfinished, { force: true });
  }
}

/** False if there was none. */
export function removeLogin(): boolean {
  const file = loginFile();
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return false;
  rmSync(file);
  return true;
}
