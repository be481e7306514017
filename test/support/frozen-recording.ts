import { mkdir, writeFile } from 'node:fs/promises';
import { RecordSeals } from '../../src/api/audit/evidence/record-seals.js';
import { EventLog } from '../../src/event-log/append/event-log.js';
import { KeyHistory, newCheckpointKey } from '../../src/event-log/transparency/seal/checkpoint-key.js';
import { idAt } from '../../src/kernel/ids.js';
import type { Answer } from './api-client.js';
import { FROZEN, frozenLogs, frozenRows, typesWithout } from './frozen-logs.js';
import { newPublicKey } from './keys.js';
import { addUser } from './principals.js';
import { runCli } from './process.js';
import { changesNothing, prepareSample, SAMPLES, sealed, type Walk } from './route-samples.js';
import { GATEWAY, type Service, startCopy, startService } from './service.js';

/** The URL of the service in answers. The test starts the service with it too. */
export const FROZEN_URL = 'https://tunnels.example.com';

/**
 * Writes a log of this version, with its rows and answers, into a new folder of test/frozen. Run once for each version.
 */
export async function recordFrozenLog(): Promise<void> {
  const settings = { ...GATEWAY, publicUrl: FROZEN_URL };
  const checkpoints = { checkpointKeys: new KeyHistory(newCheckpointKey('frozen.example')) };
  const service = await startService({ ...settings, ...checkpoints });
  const { rows } = await service.pool.query('select account_id as "accountId", admins[1] as id from accounts');
  const walk: Walk = { service, admin: { ...rows[0], keyId: '', client: service.admin } };
  await changeEverything(walk, await startCopy(service, { ...settings, ...checkpoints, strict: true }));
  const { rows: events } = await service.pool.query('select type, stream_id from events order by position');
  const missing = typesWithout(events);
  if (missing.length > 0) throw new Error(`add calls that record ${missing.join(', ')} to changeEverything`);
  const files = {
    'log.ndjson': (await runCli({ DATABASE_URL: service.databaseUrl }, 'audit', 'export')).stdout,
    ...(await evidence(walk, events.length)),
    'rows.ndjson': ndjson(await rowsOf(service)),
    'answers.ndjson': ndjson(await answersAbout(service, new Set(events.map(({ stream_id }) => stream_id)))),
  };
  const folder = `${FROZEN}/log-${frozenLogs().length + 1}`;
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(`${folder}/${name}`, text);
}

const ndjson = (values: readonly unknown[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('');

/** Calls each route that changes something, and then makes the events that no sample makes. */
async function changeEverything(walk: Walk, strict: Service): Promise<void> {
  const { service, admin } = walk;
  for (const route of Object.keys(SAMPLES).filter((one) => !changesNothing(one))) {
    const { call } = await prepareSample(walk, route);
    done(await call(admin.client));
  }
  const user = await addUser(service, 'member');
  for (const role of ['admin', 'member']) done(await admin.client.patch(`/users/${user.id}`, { role }));
  const credential = { public_key: newPublicKey('a \t"b" 😀'), acl: ['bind:*.example.com', 'bind:region=eu'] };
  const { body } = done(await strict.admin.post('/ssh_credentials', { ...credential, owner_id: user.id }));
  done(
    await strict.admin.put(`/ssh_credentials/${body.id}/source_restriction`, { cidrs: ['2001:db8::/32', '10.1.2.3'] }),
  );
  done(await strict.admin.post('/ssh_credentials', { public_key: newPublicKey(), description: 'ünï\t"\\ \u2028 😀' }));
  const hostports = ['A.example.test:443', 'a.example.test:443', '[2001:DB8::1]:22'];
  const edge = done(await strict.admin.post('/edges/tcp', { hostports, traffic_policy: { value: '{"a":\n"b\\\\"}' } }));
  done(await strict.admin.patch(`/edges/tcp/${edge.body.id}`, { hostports: [...hostports, 'b.example.test:1'] }));
  done(await admin.client.post('/reserved_domains', { domain: '*.B\u00fccher.Example.test.', region: 'us' }));
  done(await admin.client.delete(`/users/${user.id}`));
  await sealRecord(service, admin.accountId);
}

/** Seals a record of a day that every copy of the log takes for past its retention. */
async function sealRecord({ pool }: Service, accountId: string): Promise<void> {
  const times = { started_at: new Date(0), ended_at: new Date(0), settled_at: new Date(0), reason: 'client' };
  const record = { account_id: accountId, id: idAt('ec', new Date(0)), edge_id: 'e', hostport: 'h', gateway_id: 'g' };
  await pool.query(
    'insert into edge_connection_records select * from json_populate_record(null::edge_connection_records, $1)',
    [JSON.stringify({ ...record, ...times })],
  );
  const seals = new RecordSeals(pool, new EventLog(pool, () => undefined));
  for (let isSealed = false; !isSealed; ) {
    await seals.next(new AbortController().signal);
    isSealed = (await pool.query(`select from events where type = 'records_sealed.v1'`)).rows.length > 0;
  }
}

function done(answer: Answer): Answer {
  if (answer.status < 300) return answer;
  throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
}

async function evidence(walk: Walk, events: number): Promise<Record<'checkpoint' | 'key', string>> {
  const { client } = walk.admin;
  for (;;) {
    await sealed(walk);
    const { body: checkpoint } = await client.get('/log/checkpoint');
    if (checkpoint.split('\n')[1] === String(events)) return { checkpoint, key: (await client.get('/log/key')).body };
  }
}

async function rowsOf({ pool }: Service): Promise<object[]> {
  const client = await pool.connect();
  await client.query(`begin; set local timezone = 'UTC'`);
  const rows = await frozenRows(client);
  await client.query('rollback');
  client.release();
  return rows;
}

/** Reads the lists at four positions, the history of each stream, and the feed. */
async function answersAbout({ app, admin, pool }: Service, streams: ReadonlySet<string>): Promise<object[]> {
  const { rows } = await pool.query('select size::int from log_heads');
  const positions = [1, 2, 3, 4].map((n) => Math.floor((rows[0].size * n) / 4));
  const histories = app.routes.map(({ path }) => path).filter((path) => path.endsWith('/:id/events'));
  const paths = [...new Set(histories)].flatMap((path) => [
    ...positions.map((position) => path.replace('/:id/events', `?as_of=${position}`)),
    ...[...streams].map((id) => path.replace(':id', id)),
  ]);
  const answers: object[] = [];
  for (const path of [...paths, '/events?limit=1000']) {
    const { status, body } = await admin.get(path);
    // A stream has a history under the path of its own resource only.
    if (status !== 404) answers.push({ path, body });
  }
  return answers;
}
