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

/** One server answers it. */
const ONE_ACCOUNT = /account_id = \$1/;
/** `$1` is the accounts of requests that share a statement: all servers are asked. `WANTED` and `REFS` are in `coalesce.ts`. */
const SEVERAL_ACCOUNTS = /\$\{(WANTED|REFS)\}|const (WANTED|REFS) =|account_id = any\(\$\{unseen\('\$1'/;

/** PostgreSQL calls these volatile or stable; an interval makes a sum of times stable. */
const MUTABLE =
  /\bcurrent_timestamp\b|\b((clock|statement)_timestamp|timeofday|now|random|gen_random_uuid|nextval|pg_current_xact_id)\(|\binterval '/
    .source;

/** How each construct looks in the code. In migrations a column is no statement. */
const CONSTRUCTS: Readonly<Record<string, RegExp>> = {
  'triggers: of statements, of TRUNCATE and of rows': /create (or replace |constraint )?trigger/,
  'functions that are not immutable in UPDATE, ON CONFLICT and RETURNING': new RegExp(
    `\\b(update (\\S+ ){0,3}set|returning)\\b[^\`;]*?(${MUTABLE})|\\b\\w+ = clock_timestamp\\(`,
  ),
  'look-ups of several accounts in one statement': SEVERAL_ACCOUNTS,
  '`lateral` look-ups with a limit that are not of one account': new RegExp(
    `lateral \\(((?!${ONE_ACCOUNT.source})[^\`])*?\\blimit\\b`,
  ),
  'INSERT within WITH': /\bas (materialized )?\(\s*insert into/,
  'subqueries within INSERT': /insert into [^;]{0,500}?\b(where|having) (not )?(exists )?\(select/,
  'two writes of one table in a statement': /_removed as \(/,
  'the account within an expression, for an index of its own': /account_id \|\| '' = \$1|account_id = \$1\) is true/,
  'the account taken from JSON': /as b?\(account_id text, /,
  'global unique keys': /unique (index \w+ on \w+ )?\((?!account_id)/,
  'values that belong to one account': /\.account_id <> \$1/,
  'exported snapshots': /pg_export_snapshot/,
  'NOWAIT and SKIP LOCKED': /(share|mode) nowait|skip locked/,
  'xmin and transaction ids': /\bxmin\b|pg_current_snapshot|pg_current_xact_id|xid8/,
  'tables made by `like` and moved by `set schema`': /\(like %I|set schema/,
};

/** What the document says that we do not have. */
const ABSENT = [
  /create (or replace )?(sequence|rule|view|materialized view)\b|\b(big)?serial\b|\bas identity|nextval\(/,
  /partition (of|by (range|list|hash))\b|\binherits \(|foreign key \(|\breferences \w+ ?\(/,
  /\btablesample\b|\bgrouping sets\b|\b(rollup|cube) ?\(|merge into |pg_notify|['`]notify |pg_(try_)?advisory/,
];

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

  it('says of each construct where its refusal was read, or that it was not', () => {
    const unread = rowsOf('construct').filter(([, , read = '']) => !/#\d+|[pP]age\b|^not (read|of Citus)/.test(read));
    expect(unread).toEqual([]);
  });

  it.each(ABSENT)('is right that no statement and no migration has %s', (pattern) => {
    expect(SOURCES.filter(({ source }) => pattern.test(source)).map(({ file }) => file)).toEqual([]);
  });

  it('is right that each recursive query and each primary key of rows of accounts names the account', () => {
    const recursive = SOURCES.flatMap(({ source }) => source.match(/with recursive [^`]+/g) ?? []);
    expect(recursive.length).toBeGreaterThan(0);
    expect(recursive.filter((sql) => !ONE_ACCOUNT.test(sql))).toEqual([]);
    const others = SOURCES.filter(({ source }) => /primary key \((?!account_id)/.test(source)).map(({ file }) => file);
    expect(others).toEqual(['migrations/0013-schema-requirements.ts', 'migrations/0030-claims.ts']);
  });
});

/** `name: ..., text: ...` of a named statement, and `grantsStatement(name, ...)`, whose text is that of its file. */
const STATEMENT = /name: ['`]([^'`]+)['`],?\s*text:\s*(['`])([\s\S]*?)\2/g;
const TABLES = Object.keys(TABLE_RIGHTS).filter((name) => !/migration|schema/.test(name));
const ABOUT_ACCOUNTS = new RegExp(`\\b(from|into|update|join) (${TABLES.join('|')})\\b`);

it('each named statement about rows of accounts takes one account or several as $1, or docs/scaling.md says why not', () => {
  const named = SOURCES.flatMap(({ file, source }) =>
    [...source.matchAll(STATEMENT)].map(([, name = '', , sql = '']) => ({ name, sql, file: basename(file) })),
  ).filter(({ sql }) => ABOUT_ACCOUNTS.test(sql) || SEVERAL_ACCOUNTS.test(sql));
  const several = named.filter(({ sql }) => SEVERAL_ACCOUNTS.test(sql));
  const ofOne = named.filter(({ sql }) => ONE_ACCOUNT.test(sql));
  expect(ofOne.length).toBeGreaterThan(20);
  expect(several.length).toBeGreaterThan(5);
  const row = rowsOf('construct').find(([cell]) => cell === 'look-ups of several accounts in one statement');
  expect(several.map(({ file }) => file).filter((file) => !namesIn(row?.[1]).includes(file))).toEqual([]);
  const without = named.filter((statement) => !ofOne.includes(statement) && !several.includes(statement));
  const made = SOURCES.flatMap(({ source }) => [
    ...[...source.matchAll(/grantsStatement\('(\w+)'/g)].map(([, name = '']) => name),
    ...[...source.matchAll(/accountsThatHave\(\s*'(\w+)'/g)].map(([, name = '']) => name),
  ]);
  const listed = rowsOf('statement').flatMap(([cell]) => namesIn(cell));
  expect([...without.map(({ name }) => name).filter((name) => !name.includes('$')), ...made].sort()).toEqual(
    listed.sort(),
  );
});

it('no statement of the service but those of rebuilds looks at xmin: the same bytes are the same in every copy', () => {
  const files = SOURCES.filter(
    ({ file, source }) => file.startsWith('src/') && /\(xmin\)|\.xmin\b|, xmin\b|select xmin/.test(source),
  );
  expect(files.map(({ file }) => file)).toEqual(['src/log/rebuild/catch-up.ts']);
});
