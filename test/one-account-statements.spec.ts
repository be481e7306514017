import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { TABLE_RIGHTS } from '../src/database/schema/rights.js';
import { addUser } from './support/principals.js';
import { CHECKPOINTS, callerOf, prepareSample, SAMPLES } from './support/route-samples.js';
import { GATEWAY, startService } from './support/service.js';

const ROOT = new URL('..', import.meta.url).pathname;
const SOURCES = ['src', 'migrations'].flatMap((folder) =>
  readdirSync(`${ROOT}/${folder}`, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
    .map((file) => ({ file: `${folder}/${file}`, source: readFileSync(`${ROOT}/${folder}/${file}`, 'utf8') })),
);

/** `wantedRows` is in `coalesce.ts`. An append inserts `$1`. */
const ONE_ACCOUNT = /account_id = \$1|\$\{wantedRows\(|\$1 as account_id/;

/** These find rows without `$1` being their account. Those of the first two kinds find whose account it is. */
const WITHOUT_ACCOUNT = {
  'by a token, or the e-mail of one': ['callers_by_tokens', 'enrollers_by_tokens', 'logins_by_emails'],
  'by a fingerprint or the id of a credential that a gateway knows, or by a hostport': [
    'grants_by_fingerprints',
    'grants_with_acls',
    'grant_owners_by_fingerprints',
    'key_by_fingerprint',
    'credential_states',
    'tcp_edges_by_hostports',
    'edge_ports',
    'hostports_of_other_accounts',
  ],
  'by an address or a domain: whose it is, and whether it is free; gateways, which may serve all accounts': [
    'free_addrs',
    'hosts_reserved_elsewhere',
    'hosts_of_gateways',
    'gateways_of_account',
    'is_all_free',
    'name_rests_until',
    'reserved_names',
    'names_with_certificates',
  ],
  'for the streams of all gateways, and for all who follow a log': [
    'credential_changes',
    'edge_changes',
    'reservations_since',
    'session_changes',
    'log_tail',
    'log_sizes_of_accounts',
  ],
  'rounds of the service: the sealer, removals of what deleted owners had, the record of decisions and its purge': [
    'sealed_states',
    'next_log',
    'unsealed_records',
    'take_pending_removal',
    'write_bind_decisions',
    'accounts_with_usage',
    'accounts_with_presence',
  ],
  'for a gateway, which may serve all accounts: what it reports, and what is left when it is silent': [
    ...[
      'lock_gateway_run',
      'add_gateway_run',
      'hear_gateway_run',
      'lose_gateway_run',
      'purge_lost_gateways',
      'use_of_gateway_token',
      'tell_of_gateway',
    ],
    'count_tunnels_of_gateway',
    ...['open_tunnel_sessions', 'open_tunnels', 'end_tunnel_sessions', 'end_tunnels', 'tunnels_of_sessions'],
    ...['count_credential_presence', 'record_edge_connections', 'stopped_sessions_of_gateway'],
    ...['count_use_of_sessions', 'count_use_of_tunnels', 'unreported_sessions', 'unreported_tunnels'],
    ...['forget_ends_of_sessions', 'forget_ends_of_tunnels'],
    ...['look_for_silent_gateways', 'silent_gateways', 'lock_silent_gateway', 'mark_doubled_sessions'],
  ],
  'metrics of the operator': ['log_size', 'count_alarms'],
  'its index begins with the account within an expression, and beside it PostgreSQL must have no other one to take': [
    'edge_reference',
  ],
};
const KNOWN = Object.values(WITHOUT_ACCOUNT).flat();

/** `name: ..., text: ...` of a named statement. */
const STATEMENT = /name: ['`]([^'`]+)['`],?\s*text:\s*(['`])([\s\S]*?)\2/g;
/** Of a statement that a function makes: its name. */
const MADE = [
  /grantsStatement\('(\w+)'/g,
  /accountsThatHave\(\s*'(\w+)'/g,
  /(?:countUse|unreported|forgetEnds)\('(\w+)'/g,
  // Where new rows are looked for: see new-rows.ts.
  /name: '(\w+)',\s*(?:\/\/.*\s*)?selects: /g,
];
const TABLES = Object.keys(TABLE_RIGHTS).filter((name) => !/migration|schema/.test(name));
/** Functions of the schema that look into them. */
const FUNCTIONS = ['resting_of', 'reserving_accounts'];
const ABOUT_ACCOUNTS = new RegExp(`\\b(from|into|update|join) (${[...TABLES, ...FUNCTIONS].join('|')})\\b`);

it('each named statement about rows of accounts takes one account as $1, or it is known why not', () => {
  const named = SOURCES.flatMap(({ source }) =>
    [...source.matchAll(STATEMENT)].map(([, name = '', , sql = '']) => ({ name, sql })),
  ).filter(({ sql }) => ABOUT_ACCOUNTS.test(sql));
  const without = named.filter(({ sql }) => !ONE_ACCOUNT.test(sql));
  expect(named.length - without.length).toBeGreaterThan(25);
  const made = MADE.flatMap((call) =>
    SOURCES.flatMap(({ source }) => [...source.matchAll(call)].map(([, name = '']) => name)),
  );
  const found = [...without.map(({ name }) => name).filter((name) => !name.includes('$')), ...made];
  expect(found.sort()).toEqual([...KNOWN].sort());
});

it('each statement of any route, as PostgreSQL has it, takes one account as $1, or it is known why not', async () => {
  const service = await startService({ ...GATEWAY, ...CHECKPOINTS, databasePoolSize: 1, auditReadConnections: 1 });
  const walk = { service, admin: await addUser(service, 'admin') };
  for (const route of Object.keys(SAMPLES)) {
    const { call } = await prepareSample(walk, route);
    expect([200, 201, 204]).toContain((await call(callerOf(walk, route))).status);
  }
  const PREPARED = 'select name, statement as sql from pg_prepared_statements';
  const pools = [service.pool, service.app.database.auditReadPool];
  const prepared = (await Promise.all(pools.map((pool) => pool.query(PREPARED)))).flatMap(({ rows }) => rows);
  const aboutAccounts = prepared.filter(({ sql }) => ABOUT_ACCOUNTS.test(sql));
  expect(aboutAccounts.length).toBeGreaterThan(60);
  const without = aboutAccounts.filter(({ name, sql }) => !ONE_ACCOUNT.test(sql) && !KNOWN.includes(name));
  expect(without).toEqual([]);
  await service.stop();
});

it('each recursive query but the round of the sealer, and each primary key of rows of accounts, names the account', () => {
  const recursive = SOURCES.flatMap(({ file, source }) =>
    (source.match(/with recursive [^`]+/g) ?? []).map((sql) => ({ file, sql })),
  );
  expect(recursive.length).toBeGreaterThan(1);
  expect(recursive.filter(({ sql }) => !ONE_ACCOUNT.test(sql)).map(({ file }) => file)).toEqual([
    'src/event-log/transparency/seal/sealed-logs.ts',
  ]);
  const others = SOURCES.filter(({ source }) => /primary key \((?!account_id)/.test(source)).map(({ file }) => file);
  expect(others).toEqual(
    ['0007-claims', '0010-tunnel-sessions', '0012-reservations'].map((name) => `migrations/${name}.ts`),
  );
});

it('no statement of the service looks at xmin: the same bytes are the same in every copy', () => {
  const files = SOURCES.filter(
    ({ file, source }) => file.startsWith('src/') && /\(xmin\)|\.xmin\b|, xmin\b|select xmin/.test(source),
  );
  expect(files.map(({ file }) => file)).toEqual([]);
});
