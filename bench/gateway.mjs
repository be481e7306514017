/**
 * Measures a gateway's requests over HTTP, with 100,000 credentials in the table: authorize by the number of rules,
 * against a GET of a credential, and the recheck of 10,000; then authorize with 100,000 reserved names against none.
 * Sizes alternate every two seconds, so that a slow moment affects all.
 */
import { pathToFileURL } from 'node:url';
import autocannon from 'autocannon';
import { middle } from './middle.mjs';
import { API_KEY, onServer, startService } from './programs.mjs';

const CREDENTIALS = 100_000;
const KEYS_OF_A_SIZE = 64;
const SIZES = [1, 10, 1000];
const GOALS = { 10: 1.1, 1000: 1.3 };
const CONNECTIONS = 64;
const ROUNDS = 7;
const SECONDS = 2;
const TOKEN = 'a-gateway-token-for-the-bench';
const JSON_TYPE = { 'content-type': 'application/json' };
const GATEWAY = { authorization: `Bearer ${TOKEN}`, ...JSON_TYPE };
const ADMIN = { authorization: `Bearer ${API_KEY}`, ...JSON_TYPE };

/**
 * Writes the rows of credentials without events, because the requests read only rows. The n-th fingerprint follows from
 * n.
 */
const FILL = `insert into ssh_credentials (account_id, id, version, created_at, description, metadata, public_key, acl, owner_id,
    key_type, key_bits, key_blob, fingerprint, exclusive)
  select p.account_id, 'sshcr_' || lpad(n::text, 27, '0'), 1, now(), '', '', 'ssh-ed25519 AAAA', case
      when n > $2::int * $3::int then array['bind:*.team-0.example.com']
      else array(select 'bind:*.team-' || rule || '.example.com' from generate_series(0, ($4::int[])[1 + (n - 1) / $3::int] - 1) rule)
    end, p.id, 'ssh-ed25519', 256, 'AAAA', 'SHA256:' || rtrim(encode(sha256(n::text::bytea), 'base64'), '='), false
  from generate_series(1, $1::int) n, (select account_id, id from principals limit 1) p`;

const RESERVED = 100_000;
const GOAL_RESERVED = 1.1;
/** Half are addresses and half domains, of accounts with 10,000 each, at names near those that are asked for. */
const RESERVE = [
  `insert into reserved_addrs (account_id, id, version, created_at, description, metadata, addr, region)
    select 'ac_' || n / 10000, 'ra_' || n, 1, now(), '', '', 'www.r-' || n || '.example.com:20000', '' from generate_series(1, $1::int / 2) n`,
  `insert into reserved_domains (account_id, id, version, created_at, description, metadata, domain, text, region)
    select 'ac_' || n / 10000, 'rd_' || n, 1, now(), '', '', '*.d-' || n || '.example.com', '*.d-' || n || '.example.com', '' from generate_series(1, $1::int / 2) n`,
];

async function reserve(client) {
  for (const statement of RESERVE) await client.query(statement, [RESERVED]);
}

async function fill(client) {
  await client.query(FILL, [CREDENTIALS, SIZES.length, KEYS_OF_A_SIZE, SIZES]);
  await client.query('analyze ssh_credentials');
  const { rows } = await client.query('select id, fingerprint from ssh_credentials order by id');
  return rows;
}

/** For every size the last rule is the one that matches. */
const authorize = (keys, size) => ({
  path: '/ssh_gateway/authorize',
  headers: GATEWAY,
  requests: keys.map(({ fingerprint }) => ({
    method: 'POST',
    body: JSON.stringify({ fingerprint, target: { domain: `www.team-${size - 1}.example.com` } }),
  })),
});

async function requestsPerSecond({ path, ...options }, url, seconds) {
  const result = await autocannon({ url: url + path, connections: CONNECTIONS, duration: seconds, ...options });
  if (result.non2xx + result.errors > 0)
    throw new Error(`${result.non2xx} refused and ${result.errors} failed requests`);
  return result.requests.average;
}

function rowOf(what, rates, base, goal) {
  const ratios = rates.map((rate, round) => base[round] / rate);
  const range = `${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)}`;
  return {
    what,
    measured: `${middle(ratios).toFixed(2)} x (${range}; ${middle(rates).toFixed(0)}/s against ${middle(base).toFixed(0)}/s)`,
    goal: goal === undefined ? 'none' : `<= ${goal} x`,
    ok: goal === undefined || middle(ratios) <= goal,
  };
}

async function post(url, path, body) {
  const response = await fetch(url + path, { method: 'POST', headers: GATEWAY, body: JSON.stringify(body) });
  return { status: response.status, body: await response.json() };
}

/** Throws if an answer is not the expected one, so that the bench measures the right thing. */
async function confirm(url, cases) {
  for (const { requests, path } of cases) {
    const { body } = await post(url, path, JSON.parse(requests.at(-1).body));
    if (body.allowed !== true) throw new Error(`this measures the wrong thing: ${JSON.stringify(body)}`);
  }
}

async function recheckMs(url, credentials, changed) {
  const known = credentials.slice(-10_000).map(({ id }, n) => ({ credential_id: id, version: n < changed ? 2 : 1 }));
  const times = [];
  for (let round = 0; round < 15; round += 1) {
    const start = performance.now();
    const { body } = await post(url, '/ssh_gateway/recheck', known);
    times.push(performance.now() - start);
    if (body.changed.length !== changed)
      throw new Error(`${body.changed.length} changed: this measures the wrong thing`);
  }
  return middle(times);
}

/** @returns {Promise<{what: string, measured: string, goal: string, ok: boolean}[]>} */
export async function run() {
  const services = [await startService({ GATEWAY_TOKENS: TOKEN }), await startService({ GATEWAY_TOKENS: TOKEN })];
  try {
    return [...(await measure(services[0])), await measureReserved(services)];
  } finally {
    for (const service of services) {
      await service.stop();
      await service.clean();
    }
  }
}

/** The second service has the reservations. Both have the same credentials. */
async function measureReserved([none, many]) {
  const credentials = await onServer(many.dataDir, fill);
  await onServer(many.dataDir, reserve);
  const asked = authorize(credentials.slice(0, KEYS_OF_A_SIZE), 1);
  const rates = [[], []];
  for (const { url } of [none, many]) await requestsPerSecond(asked, url, 2);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const n of round % 2 === 0 ? [0, 1] : [1, 0]) {
      rates[n].push(await requestsPerSecond(asked, [none, many][n].url, SECONDS));
    }
  }
  const what = `authorize over HTTP, ${CONNECTIONS} connections, ${RESERVED.toLocaleString('en')} reserved names against none`;
  return rowOf(what, rates[1], rates[0], GOAL_RESERVED);
}

async function measure(service) {
  const { url } = service;
  const credentials = await onServer(service.dataDir, fill);
  const [one, ...larger] = SIZES.map((size, n) =>
    authorize(credentials.slice(n * KEYS_OF_A_SIZE, (n + 1) * KEYS_OF_A_SIZE), size),
  );
  const others = SIZES.length * KEYS_OF_A_SIZE;
  const anyKey = authorize(
    Array.from({ length: 512 }, () => credentials[others + Math.floor(Math.random() * (CREDENTIALS - others))]),
    1,
  );
  const get = { path: `/ssh_credentials/${credentials[0].id}`, headers: ADMIN };
  const cases = [one, ...larger, anyKey, get];
  await confirm(url, cases.slice(0, -1));
  for (const each of cases) await requestsPerSecond(each, url, 2);
  const rates = cases.map(() => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    // Each round has another order, because the machine changes within a round.
    for (let n = 0; n < cases.length; n += 1) {
      const turn = (n + round) % cases.length;
      rates[turn].push(await requestsPerSecond(cases[turn], url, SECONDS));
    }
  }
  const [base, ...rest] = rates;
  const what = `authorize over HTTP, ${CONNECTIONS} connections, ${CREDENTIALS.toLocaleString('en')} credentials`;
  const rows = SIZES.slice(1).map((size, n) => rowOf(`${what}, ${size} rules against 1`, rest[n], base, GOALS[size]));
  rows.push(rowOf(`${what}, 512 keys against 64`, rest.at(-2), base));
  rows.push(rowOf(`${what}, against GET /ssh_credentials/{id}`, base, rest.at(-1)));
  for (const changed of [0, 1000]) {
    const ms = await recheckMs(url, credentials, changed);
    rows.push({
      what: `recheck of 10,000, ${changed} changed`,
      measured: `${ms.toFixed(0)} ms`,
      goal: 'none',
      ok: true,
    });
  }
  return rows;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  console.table(await run());
}
