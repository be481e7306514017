import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createApp } from '../../src/api/app.js';
import { startEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.js';
import { findEmbeddedData, removeEmbeddedData } from '../../src/database/embedded/removal.js';
import {
  type CheckpointKey,
  KeyHistory,
  keyText,
  newCheckpointKey,
} from '../../src/event-log/transparency/seal/checkpoint-key.js';
import { LogAlarms } from '../../src/event-log/transparency/seal/log-alarms.js';
import { seal } from '../../src/event-log/transparency/seal/seal.js';
import { SealedLogs } from '../../src/event-log/transparency/seal/sealed-logs.js';
import { inDatabase, rowsOf } from '../support/backups.js';
import { freePort } from '../support/free-port.js';
import { stopAtEnd } from '../support/leftovers.js';
import { newSigningKey, TestIssuer } from '../support/oidc-issuer.js';
import { runCli, spawnCli } from '../support/process.js';
import { cloneDatabase, emptyDatabase, type Service, startService, testConfig } from '../support/service.js';
import { END_ALARMS } from '../support/tampering.js';

let service: Service;
let settings: Record<string, string>;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());
beforeEach(() => {
  settings = { DATABASE_URL: service.databaseUrl, PORT: new URL(service.app.url).port };
});

const doctor = (more: Record<string, string> = {}) => runCli({ ...settings, ...more }, 'doctor');
/** The findings of one check: level and text. */
const found = (stdout: string, check: string): string[] =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => /^(\w+) +(\w+) +(.*)$/.exec(line) ?? [])
    .filter(([, , name]) => name === check)
    .map(([, level, , text]) => `${level}: ${text}`);
/** Runs the doctor, which must find this and end with this code. */
async function expectFinding(code: number, check: string, pattern: RegExp, more: Record<string, string> = {}) {
  const result = await doctor(more);
  expect([result.code, result.stderr]).toEqual([code, '']);
  expect(found(result.stdout, check)).toEqual(expect.arrayContaining([expect.stringMatching(pattern)]));
  return result.stdout;
}
/** Changes a database of its own for the time of one test. */
async function onDatabase(change: string, work: (url: string) => Promise<unknown>): Promise<void> {
  const clone = await cloneDatabase();
  await inDatabase(clone.url, (client) => client.query(change));
  await work(clone.url);
  await clone.drop();
}

describe('doctor beside a service that is in order', () => {
  it('says ok or what could be better, one line a check, and ends with 0', async () => {
    const { code, stdout, stderr } = await doctor({ CHECKPOINT_KEY: 'off' });
    expect([code, stderr]).toEqual([0, '']);
    const lines = stdout.trimEnd().split('\n');
    const names = lines.map((line) => line.split(/ +/)[1]);
    expect(names).toEqual([
      ...['settings', 'database', 'version', 'migrations', 'rights', 'schema', 'history', 'checkpoints', 'alarms'],
      ...['encryption', 'connections', 'plans', 'clock', 'disk', 'bootstrap', 'gateways', 'claims', 'maxima', 'issuer'],
      'port',
    ]);
    const notOk = lines.filter((line) => !line.startsWith('ok '));
    expect(notOk).toEqual([expect.stringMatching(/^warning +history +only a trigger keeps the role postgres/)]);
    expect(found(stdout, 'port')).toEqual([
      expect.stringMatching(/^ok: an instance of the service listens .* is ready$/),
    ]);
  });

  it('changes nothing: neither migrations nor a folder nor a row', async () => {
    const empty = await emptyDatabase();
    await expectFinding(0, 'migrations', /^warning: the database has no tables yet/, { DATABASE_URL: empty.url });
    expect(await rowsOf(empty.url)).toEqual([]);
    await empty.drop();
    const folder = '/nonexistent/tunnel-access-data';
    await expectFinding(0, 'database', /^warning: there is no database in DATA_DIR .* yet/, {
      DATABASE_URL: '',
      DATA_DIR: folder,
    });
    expect(existsSync(folder)).toBe(false);
  });
});

describe('maxima', () => {
  const OF_EARLIER_VERSIONS = `
    set tunnel_access.repair = 'on';
    insert into ip_policies select 'ac_1', 'ipp_' || n, 1, now(), '', '' from generate_series(1, 2) n;
    insert into ip_policy_rules select 'ac_1', 'ipr_' || p || '_' || n, 1, now(), '', '', 'ipp_' || p,
      '10.' || n / 256 || '.' || n % 256 || '.0/24', 'allow' from generate_series(1, 2) p, generate_series(1, 5001 / p) n;
    insert into ssh_credentials (account_id, id, version, created_at, description, metadata, public_key, acl, owner_id,
      key_type, key_bits, key_blob, fingerprint, exclusive)
      select 'ac_1', 'sshcr_' || n, 1, now(), '', '', '', array_fill('bind:a.example'::text, array[1000]), 'usr_1', '', 0, '',
        'SHA256:' || n / 3, false from generate_series(1, 5) n;
    insert into tcp_edges (account_id, id, version, created_at, description, metadata, hostports, ip_restriction, traffic_policy)
      select 'ac_1', 'edgtcp_' || n, 1, now(), '', '', '[]', json_build_object('enabled', true, 'ip_policy_ids', ids),
        json_build_object('enabled', n = 4, 'value', repeat(' ', 16385))
      from (values (1, '["ipp_2"]'::json), (2, '["ipp_1", "ipp_2"]'), (3, to_json(array_fill('ipp_x'::text, array[101]))), (4, '[]'))
        as edges(n, ids)`;

  it('that keys, IP policies and edges are beyond are named, and nothing else', () =>
    onDatabase(OF_EARLIER_VERSIONS, async (url) => {
      const { stdout } = await doctor({ DATABASE_URL: url });
      expect(found(stdout, 'maxima')).toEqual([
        'warning: the credentials of the key SHA256:1 have 3000 rules: only those of the oldest ones, up to 2000, count. Merge rules, or use several keys',
        'warning: the IP policy ipp_1 has 5001 rules; the maximum is 5000. Merge networks',
        'warning: the edge edgtcp_2 lets nobody in: the IP policies of the edge have more than 5000 rules in all.',
        'warning: the edge edgtcp_3 lets nobody in: the IP restriction names more than 100 IP policies.',
        expect.stringMatching(
          /^warning: the edge edgtcp_4 lets nobody in: its traffic policy cannot be read: the policy is 16385 bytes long/,
        ),
      ]);
    }));
});

describe('the checkpoints', () => {
  const [old, changed] = [newCheckpointKey('old.example.com'), newCheckpointKey('new.example.com')];
  const known = (...keys: CheckpointKey[]) => ({ CHECKPOINT_KEY: keys.map(keyText).join('\n') });
  beforeAll(async () => {
    const logs = new SealedLogs(service.pool);
    const { logs: states } = await logs.states('');
    for (const log of states) await seal(logs, new KeyHistory(old), log);
  });

  it('have keys with names, of which one signs, and none is shown', async () => {
    await expectFinding(
      0,
      'checkpoints',
      /^warning: CHECKPOINT_KEY is not set, so .* or set CHECKPOINT_KEY=off if this is/,
    );
    await expectFinding(0, 'checkpoints', /^ok: CHECKPOINT_KEY is off: the logs are not signed$/, {
      CHECKPOINT_KEY: 'off',
    });
    const pattern = /^ok: keys that are known: 2 \(old\.example\.com, new\.example\.com\); new\.example\.com signs$/;
    const stdout = await expectFinding(0, 'checkpoints', pattern, known(old, changed));
    for (const { seed } of [old, changed]) expect(stdout).not.toContain(seed.toString('base64'));
  });

  it('that no known key has signed are named', async () => {
    const by =
      /^wrong: the newest checkpoint of ac_\w+, of \d+ events, is signed by the key old\.example\.com, which is not known, .*: add this key/;
    await expectFinding(1, 'checkpoints', by, known(changed));
    const wrong =
      /^wrong: the newest checkpoint of ac_\w+, of \d+ events, has a wrong signature, .*: run audit verify$/;
    await expectFinding(1, 'checkpoints', wrong, known(newCheckpointKey(old.name)));
  });

  it('and open alarms of them are counted', async () => {
    const found = { accountId: `ac_${'0'.repeat(27)}`, loss: 'tail', signed: 9, mark: '', what: 'found' } as const;
    await new LogAlarms(service.pool).raise(found);
    await expectFinding(
      1,
      'alarms',
      /^wrong: open in 1 logs, which are not signed until the alarms end: audit alarms lists them/,
    );
    await service.pool.query(END_ALARMS);
    await expectFinding(0, 'alarms', /^ok: none is open$/);
  });
});

describe('the settings', () => {
  it('that cannot be read are wrong, and the other checks go on without the value of a secret', async () => {
    const stdout = await expectFinding(1, 'settings', /^wrong: PORT 'x' must be a whole number/, {
      PORT: 'x',
      BOOTSTRAP_API_KEY: 's3cret',
      OIDC_ISSUER: 'https://login.example.com',
    });
    expect(found(stdout, 'settings')).toHaveLength(3);
    expect(found(stdout, 'version')).toHaveLength(1);
    expect(stdout).not.toContain('s3cret');
  });

  it('that contradict each other are wrong, also where a file holds the key', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'doctor-'));
    const key = 'a-key-that-is-a-token-too';
    await writeFile(join(folder, 'key'), key);
    const stdout = await expectFinding(
      1,
      'settings',
      /^wrong: GATEWAY_TOKENS holds the key in BOOTSTRAP_API_KEY_FILE/,
      {
        BOOTSTRAP_API_KEY_FILE: join(folder, 'key'),
        GATEWAY_TOKENS: key,
      },
    );
    expect(stdout).not.toContain(key);
    await rm(folder, { recursive: true });
  });

  it('without a readable place of the database check no other database', async () => {
    const stdout = await expectFinding(1, 'settings', /^wrong: DATABASE_URL must/, {
      DATABASE_URL: 'mysql://s3cret@h',
    });
    expect(found(stdout, 'database')).toEqual([]);
    expect(stdout).not.toContain('s3cret');
  });

  it.each([
    [{ PUBLIC_URL: 'http://tunnels.example.com' }, /PUBLIC_URL is not https/],
    [{ TRUST_PROXY: 'loopback' }, /TRUST_PROXY is set without PUBLIC_URL/],
    [{ PUBLIC_URL: 'https://tunnels.example.com' }, /TRUST_PROXY is not set/],
    [{ HOST: '0.0.0.0' }, /HOST opens the service to the network/],
    [{ AUTH_FAILURES_PER_MINUTE: '0' }, /AUTH_FAILURES_PER_MINUTE is 0/],
    [{ CORS_ORIGINS: '*' }, /CORS_ORIGINS is \*/],
    [{ LOG_LEVEL: 'debug' }, /LOG_LEVEL is debug/],
  ])('%j is a warning', async (doubtful, pattern) => {
    const { stdout } = await doctor(doubtful as Record<string, string>);
    expect(found(stdout, 'settings')).toEqual([expect.stringMatching(pattern)]);
    expect(found(stdout, 'settings')[0]).toMatch(/^warning: /);
  });
});

describe('the database', () => {
  it('that cannot be reached, or does not exist, is wrong', async () => {
    const port = await freePort('127.0.0.1');
    const gone = `postgres://me:s3cret@127.0.0.1:${port}/db`;
    const stdout = await expectFinding(
      1,
      'database',
      /^wrong: 127\.0\.0\.1:\d+ cannot be used: .*no server listens there/,
      {
        DATABASE_URL: gone,
      },
    );
    expect(found(stdout, 'version')).toEqual([]);
    expect(found(stdout, 'port')).toHaveLength(1);
    expect(stdout).not.toContain('s3cret');
    const absent = { DATABASE_URL: `${service.databaseUrl}_typo` };
    await expectFinding(1, 'database', /^wrong: .* cannot be used: .*does not exist/, absent);
  });

  it('of another encoding is wrong', async () => {
    const ascii = await emptyDatabase(`encoding 'SQL_ASCII' template template0`);
    const pattern = /^wrong: the encoding of the database is SQL_ASCII/;
    await expectFinding(1, 'version', pattern, { DATABASE_URL: ascii.url });
    await ascii.drop();
  });

  it('with pending migrations, and with those of a newer version, is a warning', async () => {
    const pending = 'delete from migrations where id = (select max(id) from migrations)';
    await onDatabase(pending, (url) =>
      expectFinding(0, 'migrations', /^warning: 1 of \d+ are pending/, { DATABASE_URL: url }),
    );
    const newer = `insert into migrations (timestamp, name) values (9999999999999, 'Later9999999999999')`;
    await onDatabase(newer, (url) =>
      expectFinding(0, 'migrations', /^warning: a newer version .*Later9999999999999/, { DATABASE_URL: url }),
    );
  });

  it('whose role lacks rights is wrong and names them; one that cannot change events is ok', async () => {
    await onDatabase(
      'create role limited login; grant select on all tables in schema public to limited',
      async (url) => {
        const limited = { DATABASE_URL: url.replace('//postgres@', '//limited@') };
        const stdout = await expectFinding(
          1,
          'rights',
          /^wrong: the role limited lacks .*INSERT on table public\.events.*: run tunnel-access migrate/,
          limited,
        );
        expect(found(stdout, 'history')).toEqual(['ok: the role limited cannot change events']);
        const blind = `revoke select on accounts from limited`;
        await inDatabase(url, (client) => client.query(blind));
        await expectFinding(1, 'bootstrap', /^wrong: the check failed: permission denied/, limited);
        await inDatabase(url, (client) => client.query('drop owned by limited; drop role limited'));
      },
    );
  });

  it('whose role may not run what is pending is wrong, as a start with it would say', async () => {
    const empty = await emptyDatabase();
    await inDatabase(empty.url, (client) => client.query('create role stranger login'));
    const stranger = { DATABASE_URL: empty.url.replace('//postgres@', '//stranger@') };
    await expectFinding(
      1,
      'rights',
      /^wrong: migrations are pending, and the role stranger may not run them/,
      stranger,
    );
    await empty.drop();
    await inDatabase(service.databaseUrl, (client) => client.query('drop role stranger'));
  });

  it('that admits fewer connections than an instance opens is a warning', async () => {
    await expectFinding(0, 'connections', /^warning: .*lower DATABASE_POOL_SIZE/, { DATABASE_POOL_SIZE: '900' });
  });

  it.each([
    [10, 0, /^warning: the clocks .* differ by (9|10|11)\.\d s/],
    [-3600, 1, /^wrong: the clocks .* differ by 3[56]\d\d\.\d s/],
  ])('whose clock differs by %i s ends with %i', async (seconds, code, pattern) => {
    const shift = `const now = Date.now; Date.now = () => now() + ${seconds * 1000}`;
    const options = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(shift)}` };
    const result = await spawnCli({ ...settings, ...options }, 'doctor');
    expect([result.code, found(result.stdout, 'clock')]).toEqual([code, [expect.stringMatching(pattern)]]);
  });

  it('whose first account has had a key makes each setting of it a warning, which does not show the key', async () => {
    const key = 'a-key-that-nobody-may-see';
    const [folder, file] = [await mkdtemp(join(tmpdir(), 'doctor-')), 'key'];
    await writeFile(join(folder, file), key);
    for (const [name, value] of [
      ['BOOTSTRAP_API_KEY', key],
      ['BOOTSTRAP_API_KEY_FILE', join(folder, file)],
    ] as const) {
      const pattern = new RegExp(`^warning: ${name} is still set, although .* it has no effect`);
      expect(await expectFinding(0, 'bootstrap', pattern, { [name]: value })).not.toContain(key);
    }
    await rm(folder, { recursive: true });
  });

  it('whose first account has never had a key needs one of these settings, or api-keys create', async () => {
    const empty = await emptyDatabase();
    await (await createApp({ ...testConfig(empty.url), bootstrapApiKey: undefined })).close();
    const place = { DATABASE_URL: empty.url };
    await expectFinding(0, 'bootstrap', /^warning: the first account has never had a key: run api-keys create/, place);
    const key = { ...place, BOOTSTRAP_API_KEY: 'a-key-that-nobody-may-see' };
    await expectFinding(0, 'bootstrap', /^ok: .*never had a key: the next start gives it the key of BOOTSTRAP_/, key);
    await empty.drop();
  });

  it('is compared with that of MIGRATION_DATABASE_URL: another database, and none, are wrong', async () => {
    const owner = (url: string) => ({ MIGRATION_DATABASE_URL: url });
    const same = /^ok: MIGRATION_DATABASE_URL leads to the same database, with the role postgres$/;
    await expectFinding(0, 'owner', same, owner(service.databaseUrl));
    const other = await emptyDatabase();
    const pattern = /^wrong: .* leads to the database test_\w+, but DATABASE_URL to the database test_\w+: both must/;
    await expectFinding(1, 'owner', pattern, owner(other.url));
    await other.drop();
    await expectFinding(
      1,
      'owner',
      /^wrong: MIGRATION_DATABASE_URL cannot be used: .*does not exist/,
      owner(other.url),
    );
  });

  it('is compared with that of MIGRATION_DATABASE_URL: another server is wrong', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'doctor-'));
    const { host, port, user, stop } = await startEmbeddedPostgres({ dataDir, log: () => undefined });
    const stopServer = stopAtEnd(async () => {
      await stop();
      await removeEmbeddedData(await findEmbeddedData(dataDir));
    });
    await expectFinding(1, 'owner', /^wrong: MIGRATION_DATABASE_URL leads to another server than DATABASE_URL/, {
      MIGRATION_DATABASE_URL: `postgres://${user}@/postgres?host=${host}&port=${port}`,
    });
    await stopServer();
  });

  it('that lacks the account of a gateway is a warning, which shows no token', async () => {
    const [token, other] = ['a-token-of-a-gateway-1', 'a-token-of-a-gateway-2'];
    const { rows } = await service.pool.query('select account_id as id from accounts');
    const tokens = `${token},edge@${rows[0].id}=${other}`;
    const counts = /^ok: tokens: 2 in all, 1 with a name, 1 for one account$/;
    await expectFinding(0, 'gateways', counts, { GATEWAY_TOKENS: tokens });
    const lost = /^warning: the account ac_0{27} of the gateway edge does not exist/;
    const strange = { GATEWAY_TOKENS: `${token},edge@ac_${'0'.repeat(27)}=${other}` };
    expect(await expectFinding(0, 'gateways', lost, strange)).not.toMatch(/a-token-of/);
  });
});

describe('the issuer', () => {
  it('is ok with its keys; wrong if it does not answer, names itself otherwise or has no key', async () => {
    const issuer = await TestIssuer.start(await newSigningKey('first'));
    const oidc = { OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: 'tunnel-access' };
    await expectFinding(0, 'issuer', /^ok: .* has 1 key$/, oidc);
    issuer.publish();
    await expectFinding(1, 'issuer', /^wrong: .* holds no key/, oidc);
    issuer.claimedIssuer = 'https://other.example.com';
    await expectFinding(1, 'issuer', /^wrong: it names itself 'https:\/\/other\.example\.com'/, oidc);
    issuer.isUp = false;
    await expectFinding(1, 'issuer', /^wrong: .*it answers 500/, oidc);
    issuer.isSilent = true;
    await expectFinding(1, 'issuer', /^wrong: .*no answer within 3 s/, oidc);
    await issuer.stop();
    await expectFinding(1, 'issuer', /^wrong: .*ECONNREFUSED/, oidc);
  });
});

describe('the port', () => {
  it('is ok if it is free, and wrong if another program has it or the machine lacks the address', async () => {
    const port = String(await freePort('127.0.0.1'));
    await expectFinding(0, 'port', /^ok: port \d+ of 127\.0\.0\.1 is free/, { PORT: port });
    const other = createServer((socket) => socket.end('hello')).listen(Number(port), '127.0.0.1');
    await expectFinding(1, 'port', /^wrong: another program listens/, { PORT: port });
    other.close();
    await expectFinding(1, 'port', /^wrong: this machine has no address 192\.0\.2\.1/, { HOST: '192.0.2.1' });
  });

  it('of an instance that is not ready is a warning with the reason', async () => {
    const other = await startService();
    await other.pool.query('delete from migrations where id = (select max(id) from migrations)');
    const pattern = /^warning: an instance .* is not ready: Not ready: 1 of \d+ migrations are pending/;
    await expectFinding(0, 'port', pattern, { PORT: new URL(other.app.url).port });
    await other.stop();
  });

  it('of the metrics is checked as well', async () => {
    const port = await freePort('127.0.0.1');
    const metrics = { METRICS_LISTEN: `127.0.0.1:${port}` };
    await expectFinding(0, 'port', /^ok: port \d+ of 127\.0\.0\.1 for the metrics is free/, metrics);
    const other = createServer((socket) => socket.end('hello')).listen(port, '127.0.0.1');
    await expectFinding(
      1,
      'port',
      /^wrong: another program listens on port \d+ of 127\.0\.0\.1 for the metrics/,
      metrics,
    );
    other.close();
    const instance = await startService({ metricsAddress: { host: '127.0.0.1', port } });
    await expectFinding(0, 'port', /^ok: an instance of the service serves its metrics on port/, metrics);
    await instance.stop();
  });
});
