import { existsSync } from 'node:fs';
import { chmod, mkdtemp, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** No test of this server loses power: so it need not wait for the disk. Tests of crashes start servers of their own. */
const SETTINGS = ['fsync = off', 'full_page_writes = off', 'synchronous_commit = off', `max_wal_size = '1GB'`];

/** A file system in memory, where a database of some 350 files is made and dropped for a quarter of the CPU. */
const IN_MEMORY = '/dev/shm';
/** The databases and the log of a whole run take some hundred megabytes. */
const MIN_FREE_BYTES = 2 ** 32;

/** Where the data goes: not every machine has such a file system, and a container's may be small. */
async function folderOfData() {
  const { bavail, bsize } = await statfs(IN_MEMORY).catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize >= MIN_FREE_BYTES ? IN_MEMORY : tmpdir();
}

/** One real PostgreSQL for the whole run, with a migrated database that every test file clones in some 30 ms. */
// biome-ignore lint/style/noDefaultExport: the form in which Jest loads a global setup
export default async function globalSetup() {
  const built = new URL('../../dist/src/database/', import.meta.url);
  if (!existsSync(built)) throw new Error('dist is missing; run the tests with `npm test`, which builds first');
  // As in a small container: PostgreSQL looks through all its buffers whenever it drops a table or a database.
  process.constrainedMemory = () => 1 << 30;
  const { startEmbeddedPostgres } = await import(new URL('embedded/embedded-postgres.js', built).href);
  const { openDatabase } = await import(new URL('database.js', built).href);
  const { migrate } = await import(new URL('migrate.js', built).href);

  const dataDir = await mkdtemp(join(await folderOfData(), 'tas-test-'));
  // As root the server runs as another user, which must be able to enter the folder.
  await chmod(dataDir, 0o711);
  const postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  const serverUrl = `postgres://postgres@${encodeURIComponent(postgres.host)}:${postgres.port}`;
  const admin = await openDatabase({ databaseUrl: `${serverUrl}/postgres`, databasePoolSize: 2 }, () => undefined);
  for (const setting of SETTINGS) await admin.pool.query(`alter system set ${setting}`);
  await admin.pool.query('select pg_reload_conf()');
  await admin.pool.query('create database template_tas');
  const template = await openDatabase(
    { databaseUrl: `${serverUrl}/template_tas`, databasePoolSize: 2 },
    () => undefined,
  );
  await migrate(template, async () => undefined);
  await template.close();
  await admin.close();

  process.env.TEST_POSTGRES_URL = serverUrl;
  globalThis.testPostgres = { postgres, dataDir };
}
