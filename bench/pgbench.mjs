/**
 * What PostgreSQL does without the service: pgbench inserts one such event a transaction, prepared, into a table like that of
 * the log. pgbench comes with PostgreSQL's server packages (Debian: `apt-get install postgresql`), and must be in the PATH.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A copy of the newest event under new ids, with a hash of its texts, which are in the statement: pgbench has nothing to make. */
const insertLike = ({ account_id, type, data, metadata }) =>
  `insert into pgbench_events
  (account_id, position, stream_id, stream_version, event_id, type, data, metadata, occurred_at, recorded_at, leaf_hash)
  values (${literal(account_id)}, nextval('pgbench_positions'), 'sshcr_' || gen_random_uuid(), 1, gen_random_uuid(),
    ${literal(type)}, ${literal(data)}, ${literal(metadata)}, now(), now(), sha256(convert_to(${literal(data + metadata)}, 'UTF8')))`.replace(
    /\n\s*/g,
    ' ',
  );
const literal = (text) => `'${text.replaceAll("'", "''")}'`;

/** Makes the table and the script. `client` is connected to the server of `address`. Undefined if there is no pgbench. */
export async function openPgbench(client, { host, port, user }) {
  const isThere = await run('pgbench', ['--version']).catch(() => undefined);
  if (isThere === undefined) return undefined;
  await client.query('create table pgbench_events (like events including all)');
  // As large as the log, and vacuumed with it, so that the indexes are as deep.
  await client.query('insert into pgbench_events select * from events');
  await client.query('create sequence pgbench_positions start 1000000000 cache 100');
  await client.query('vacuum analyze');
  const { rows } = await client.query(
    'select account_id, type, data, metadata from events order by position desc limit 1',
  );
  const folder = await mkdtemp(join(tmpdir(), 'bench-pgbench-'));
  const script = join(folder, 'insert.sql');
  // A colon and a letter would be a variable of pgbench, so the texts get none.
  const insert = insertLike(rows[0]).replace(/:(?=[a-z_])/gi, ': ');
  await writeFile(script, `${insert};\n`);
  const server = ['-h', host, '-p', String(port), '-U', user, 'postgres'];
  const pgbench = (clients, seconds, ...more) =>
    run(
      'pgbench',
      ['-n', '-M', 'prepared', '-c', clients, '-j', 2, '-T', Math.ceil(seconds), '-f', script, ...more, ...server].map(
        String,
      ),
    );

  return {
    /** The statement of a transaction. */
    insert,
    /** Transactions a second of 32 clients. */
    async rate(seconds) {
      const { stdout } = await pgbench(32, seconds);
      return Number(/tps = ([\d.]+)/.exec(stdout)?.[1]);
    },
    /** The times of the transactions of one client, in ms. */
    async timesOfOne(seconds) {
      await pgbench(1, seconds, '-j', 1, '-l', `--log-prefix=${join(folder, 'times')}`);
      const [name] = (await readdir(folder)).filter((file) => file.startsWith('times'));
      const path = join(folder, name);
      const lines = (await readFile(path, 'utf8')).trim().split('\n');
      await rm(path);
      return lines.map((line) => Number(line.split(' ')[2]) / 1000);
    },
    close: () => rm(folder, { recursive: true }),
  };
}
