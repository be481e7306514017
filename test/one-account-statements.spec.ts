import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { TABLE_RIGHTS } from '../src/database/schema/rights.js';

const ROOT = new URL('..', import.meta.url).pathname;
const SOURCES = ['src', 'migrations'].flatMap((folder) =>
  readdirSync(`${ROOT}/${folder}`, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
    .map((file) => ({ file: `${folder}/${file}`, source: readFileSync(`${ROOT}/${folder}/${file}`, 'utf8') })),
);

/** One account is `$1`. */
const ONE_ACCOUNT = /account_id = \$1/;
/** `$1` is the accounts of requests that share a statement. `wantedRows` is in `coalesce.ts`. */
const SEVERAL_ACCOUNTS = /\$\{wantedRows\(|account_id = any\(\$1/;

/** These find rows without `$1` being their account. */
const WITHOUT_ACCOUNT = {
  'the caller is not known yet': ['callers_by_tokens', 'logins_by_emails'],
  'a gateway knows a key, an id or a hostport only': [
    'grants_by_fingerprints',
    'grant_owners_by_fingerprints',
    'key_by_fingerprint',
    'credential_states',
    'tcp_edges_by_hostports',
  ],
  'a value of this account may be claimed by another': ['hostports_of_other_accounts'],
  'its index begins with the account within an expression': ['naming_edge'],
  'it finds the accounts that need work': [
    'credential_changes',
    'edge_changes',
    'sealed_states',
    'accounts_with_old_decisions',
    'accounts_with_usage',
    'take_pending_removal',
    'log_size',
    'next_log',
    'count_alarms',
  ],
  'a batch holds decisions of all accounts': ['write_bind_decisions'],
};

/** `name: ..., text: ...` of a named statement. */
const STATEMENT = /name: ['`]([^'`]+)['`],?\s*text:\s*(['`])([\s\S]*?)\2/g;
/** Of a statement that a function makes: its name. */
const MADE = [/grantsStatement\('(\w+)'/g, /accountsThatHave\(\s*'(\w+)'/g];
const TABLES = Object.keys(TABLE_RIGHTS).filter((name) => !/migration|schema/.test(name));
const ABOUT_ACCOUNTS = new RegExp(`\\b(from|into|update|join) (${TABLES.join('|')})\\b`);

it('each named statement about rows of accounts takes one account or several as $1, or it is known why not', () => {
  const named = SOURCES.flatMap(({ source }) =>
    [...source.matchAll(STATEMENT)].map(([, name = '', , sql = '']) => ({ name, sql })),
  ).filter(({ sql }) => ABOUT_ACCOUNTS.test(sql));
  const without = named.filter(({ sql }) => !ONE_ACCOUNT.test(sql) && !SEVERAL_ACCOUNTS.test(sql));
  expect(named.length - without.length).toBeGreaterThan(25);
  const made = MADE.flatMap((call) =>
    SOURCES.flatMap(({ source }) => [...source.matchAll(call)].map(([, name = '']) => name)),
  );
  const found = [...without.map(({ name }) => name).filter((name) => !name.includes('$')), ...made];
  expect(found.sort()).toEqual(Object.values(WITHOUT_ACCOUNT).flat().sort());
});

it('each recursive query and each primary key of rows of accounts names the account', () => {
  const recursive = SOURCES.flatMap(({ source }) => source.match(/with recursive [^`]+/g) ?? []);
  expect(recursive.length).toBeGreaterThan(0);
  expect(recursive.filter((sql) => !ONE_ACCOUNT.test(sql))).toEqual([]);
  const others = SOURCES.filter(({ source }) => /primary key \((?!account_id)/.test(source)).map(({ file }) => file);
  expect(others).toEqual(['migrations/0007-claims.ts']);
});

it('no statement of the service looks at xmin: the same bytes are the same in every copy', () => {
  const files = SOURCES.filter(
    ({ file, source }) => file.startsWith('src/') && /\(xmin\)|\.xmin\b|, xmin\b|select xmin/.test(source),
  );
  expect(files.map(({ file }) => file)).toEqual([]);
});
