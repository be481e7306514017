import { existsSync } from 'node:fs';
import { chmod, mkdtemp, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The server does not wait for the disk, since no test here loses power. Tests of crashes start their own servers. */
const SETTINGS = ['fsync = off', 'full_page_writes = off', 'synchronous_commit = off', `max_wal_size = '1GB'`];

/** A file system in memory. */
const IN_MEMORY = '/dev/shm';
/** Far more than a whole run needs, which takes some hundred megabytes. */
const MIN_FREE_BYTES = 2 ** 32;

/** The folder for the data. Not every machine has a file system in memory, and that of a container may be small. */
async function folderOfData() {
  const { bavail, bsize } = await statfs(IN_MEMORY).catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize >= MIN_FREE_BYTES ? IN_MEMORY : tmpdir();
}

/** Starts one real PostgreSQL for the whole run, with a migrated database that every test file clones. */
// biome-ignore lint/style/noDefaultExport: the form in which Jest loads a global setup
export default async function globalSetup() {
  const built = new URL('../../dist/src/database/', import.meta.url);
  if (!existsSync(built)) throw new Error('dist is missing; run the tests with `npm test`, which builds first');
  // Few buffers, as in a small container: PostgreSQL searches all of them when it drops a table or a database.
  process.constrainedMemory = () => 1 << 30;
  const { startEmbeddedPostgres } = await import(new URL('embedded/embedded-postgres.js', built).href);
  const { openDatabase } = await import(new URL('database.js', built).href);
  const { migrate } = await import(new URL('migrate.js', built).href);

  const dataDir = await mkdtemp(join(await folderOfData(), 'tas-test-'));
  // If root runs this, the server runs as another user, who must be able to enter the folder.
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
