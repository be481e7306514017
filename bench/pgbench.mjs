/**
 * Measures PostgreSQL without the service, by pgbench, which must be in the PATH (Debian: `apt-get install
 * postgresql`). Its transactions are prepared. Each is the insert of one event into a table like that of the log, or
 * the service's statement for a create.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SSH_CREDENTIALS } from '../dist/src/api/ssh-credentials/ssh-credentials.resource.js';
import { appendStatement } from '../dist/src/event-log/append/append-statement.js';
import { prepareAppend } from '../dist/src/event-log/append/prepared-append.js';
import { EVENT_TYPE, METADATA, newCredential } from './peers/new-event.mjs';

const run = promisify(execFile);

/**
 * Copies the newest event under new ids, with a hash of its texts. The texts are in the statement, so pgbench makes
 * nothing.
 */
const insertLike = ({ account_id, type, data, metadata }) =>
  `insert into pgbench_events
  (account_id, position, stream_id, stream_version, event_id, type, data, metadata, occurred_at, recorded_at, leaf_hash)
  values (${literal(account_id)}, nextval('pgbench_positions'), 'sshcr_' || gen_random_uuid(), 1, gen_random_uuid(),
    ${literal(type)}, ${literal(data)}, ${literal(metadata)}, now(), now(), sha256(convert_to(${literal(data + metadata)}, 'UTF8')))`.replace(
    /\n\s*/g,
    ' ',
  );
/** pgbench takes a colon and a letter for a variable, so texts must not have them. A cast has two colons. */
const withoutVariables = (statement) => statement.replace(/:(?=[a-z_])(?<!::)/gi, ': ');
const literal = (text) => `'${text.replaceAll("'", "''")}'`;

const ACCOUNT = 'ac_000000000000000000000Pgbnch';
/** A placeholder for the number of a transaction, with as many digits. */
const NUMBER = '8888888888';
const EVENT_ID = '00000000-0000-0000-0000-000000000000';

/** The statement that the service sends for one create. Id, event id and key are new in each transaction. */
function createStatement() {
  const [occurredAt, id] = [new Date(), `sshcr_${NUMBER.padStart(27, '0')}`];
  const data = { ...newCredential(), fingerprint: `SHA256:${NUMBER}` };
  const after = { account_id: ACCOUNT, id, version: 1, created_at: occurredAt, ...data };
  const event = { type: EVENT_TYPE, data };
  const stream = { model: SSH_CREDENTIALS.model, id, before: undefined, events: [event], eventId: EVENT_ID, after };
  const append = prepareAppend({ accountId: ACCOUNT, metadata: METADATA, occurredAt, streams: [stream] }, 0);
  const { text, values } = appendStatement(ACCOUNT, [append]);
  return text.replace(/\$(\d+)/g, (_, n) => textOf(values[n - 1])).replace(/\n\s*/g, ' ');
}

function textOf(value) {
  if (Array.isArray(value)) return `array[${value.map(textOf)}]`;
  if (value === EVENT_ID) return 'gen_random_uuid()::text';
  const text = literal(withoutVariables(value));
  return value.includes(NUMBER) ? `replace(${text}, '${NUMBER}', :number::text)` : text;
}

/** Makes the table and the scripts on the server that `client` is connected to. Undefined if there is no pgbench. */
export async function openPgbench(client, { host, port, user }) {
  const isThere = await run('pgbench', ['--version']).catch(() => undefined);
  if (isThere === undefined) return undefined;
  await client.query('create table pgbench_events (like events including all)');
  // The table is as large as the log and vacuumed like it, so that the indexes have the same depth.
  await client.query('insert into pgbench_events select * from events');
  await client.query('create sequence pgbench_positions start 1000000000 cache 100');
  await client.query('vacuum analyze');
  const { rows } = await client.query(
    'select account_id, type, data, metadata from events order by position desc limit 1',
  );
  const folder = await mkdtemp(join(tmpdir(), 'bench-pgbench-'));
  const insert = withoutVariables(insertLike(rows[0]));
  const scripts = {
    insert: `${insert};\n`,
    create: `\\set number random(1000000000, 9999999999)\n${createStatement()};\n`,
  };
  for (const [name, text] of Object.entries(scripts)) await writeFile(join(folder, name), text);
  const server = ['-h', host, '-p', String(port), '-U', user, 'postgres'];
  const pgbench = (script, clients, seconds, ...more) => {
    const options = ['-n', '-M', 'prepared', '-c', clients, '-T', Math.ceil(seconds), '-f', join(folder, script)];
    return run('pgbench', [...options, ...more, ...server].map(String));
  };

  return {
    insert,
    /** The inserts per second of 32 clients. */
    async rate(seconds) {
      const { stdout } = await pgbench('insert', 32, seconds, '-j', 2);
      return Number(/tps = ([\d.]+)/.exec(stdout)?.[1]);
    },
    /** The times of one client's transactions, in ms. `script` is `insert` or `create`. */
    async timesOfOne(script, seconds) {
      await pgbench(script, 1, seconds, '-l', `--log-prefix=${join(folder, 'times')}`);
      const [name] = (await readdir(folder)).filter((file) => file.startsWith('times'));
      const path = join(folder, name);
      const lines = (await readFile(path, 'utf8')).trim().split('\n');
      await rm(path);
      return lines.map((line) => Number(line.split(' ')[2]) / 1000);
    },
    close: () => rm(folder, { recursive: true }),
  };
}
