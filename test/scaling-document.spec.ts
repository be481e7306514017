import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { TABLE_RIGHTS } from '../src/database/schema/rights.js';

const ROOT = new URL('..', import.meta.url).pathname;
const text = readFileSync(`${ROOT}/docs/scaling.md`, 'utf8');

const SOURCES = ['src', 'migrations'].flatMap((folder) =>
  readdirSync(`${ROOT}/${folder}`, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
    .map((file) => ({ file: `${folder}/${file}`, source: readFileSync(`${ROOT}/${folder}/${file}`, 'utf8') })),
);

/** The cells of the table whose first column has this heading. */
function rowsOf(heading: string): string[][] {
  const [, table = ''] = text.split(`| ${heading} |`);
  const lines = table.split('\n\n')[0]?.split('\n').slice(2) ?? [];
  return lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const namesIn = (cell = ''): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

/** Where `$1` is the accounts of requests that share a statement. `WANTED` and `REFS` are in `coalesce.ts`. */
const SEVERAL_ACCOUNTS = /\$\{(WANTED|REFS)\}|const (WANTED|REFS) =|account_id = any\(\$\{unseen\('\$1'/;

/** How each construct looks in the code. In migrations a column is no statement. */
const CONSTRUCTS: Readonly<Record<string, RegExp>> = {
  'triggers: of statements, of TRUNCATE and of rows': /create trigger/,
  '`clock_timestamp()` in ON CONFLICT and in UPDATE': /clock_timestamp\(\), old\.|due_at = clock_timestamp\(\)/,
  'look-ups of several accounts in one statement': SEVERAL_ACCOUNTS,
  'two writes of one table in a statement': /_removed as \(/,
  'the account within an expression, for an index of its own': /account_id \|\| '' = \$1|account_id = \$1\) is true/,
  'the account taken from JSON': /as b?\(account_id text, /,
  'global unique keys': /unique \(token_hash\)|on tcp_edge_hostports \(hostport\) where/,
  'values that belong to one account': / t\.account_id <> \$1/,
  'exported snapshots': /pg_export_snapshot/,
  'NOWAIT and SKIP LOCKED': /(share|mode) nowait|skip locked/,
  'xmin and transaction ids': /\bxmin\b|pg_current_snapshot|pg_current_xact_id|xid8/,
  'tables moved by `set schema`': /set schema/,
};

describe('docs/scaling.md', () => {
  it.each(Object.entries(CONSTRUCTS))('names each file with %s', (construct, pattern) => {
    const row = rowsOf('construct').find(([cell]) => cell === construct);
    const files = SOURCES.filter(({ source }) => pattern.test(source)).map(({ file }) => basename(file));
    expect(files.length).toBeGreaterThan(0);
    expect(namesIn(row?.[1]).sort()).toEqual([...new Set(files)].sort());
  });

  it('names no other construct', () => {
    expect(
      rowsOf('construct')
        .map(([construct]) => construct)
        .sort(),
    ).toEqual(Object.keys(CONSTRUCTS).sort());
  });
});

/** `name: ..., text: ...` of a named statement, and `grantsStatement(name, ...)`, whose text is that of its file. */
const STATEMENT = /name: ['`]([^'`]+)['`],?\s*text:\s*(['`])([\s\S]*?)\2/g;
const namesAccount = (sql: string): boolean => /account_id = \$1/.test(sql) || SEVERAL_ACCOUNTS.test(sql);
const TABLES = Object.keys(TABLE_RIGHTS).filter((name) => !/migration|schema/.test(name));
const ABOUT_ACCOUNTS = new RegExp(`\\b(from|into|update|join) (${TABLES.join('|')})\\b`);

it('each named statement about rows of accounts takes the account or the accounts as $1, or docs/scaling.md says why not', () => {
  const named = SOURCES.flatMap(({ source }) =>
    [...source.matchAll(STATEMENT)].map(([, name = '', , sql = '']) => ({ name, sql })),
  );
  expect(named.length).toBeGreaterThan(40);
  const without = named.filter(({ sql }) => ABOUT_ACCOUNTS.test(sql) && !namesAccount(sql)).map(({ name }) => name);
  const made = SOURCES.flatMap(({ source }) => [
    ...[...source.matchAll(/grantsStatement\('(\w+)'/g)].map(([, name = '']) => name),
    ...[...source.matchAll(/accountsThatHave\(\s*'(\w+)'/g)].map(([, name = '']) => name),
  ]);
  const listed = rowsOf('statement').flatMap(([cell]) => namesIn(cell));
  expect([...without.filter((name) => !name.includes('$')), ...made].sort()).toEqual(listed.sort());
});

it('no statement of the service but those of rebuilds looks at xmin: the same bytes are the same in every copy', () => {
  const files = SOURCES.filter(
    ({ file, source }) => file.startsWith('src/') && /\(xmin\)|\.xmin\b|, xmin\b|select xmin/.test(source),
  );
  expect(files.map(({ file }) => file)).toEqual(['src/log/rebuild/catch-up.ts']);
});
