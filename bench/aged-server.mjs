/**
 * A server that was just made is slower than the same one an hour later, which has nothing to do with what is measured on it:
 * each page of its shared memory is new to the operating system, and each 16 MB of its write-ahead log begins with a file of
 * zeros, written within somebody's commit. Later it uses its memory and the files of its log again.
 */
const ROW_BYTES = 2000;

/** Writes as much as the shared memory of the server holds, and drops it again. */
export async function ageServer(client) {
  const { rows } = await client.query(`select pg_size_bytes(current_setting('shared_buffers')) as bytes`);
  const count = Math.ceil(rows[0].bytes / ROW_BYTES);
  await client.query('create table filler (row text)');
  await client.query(`insert into filler select repeat('x', ${ROW_BYTES}) from generate_series(1, ${count})`);
  await client.query('drop table filler');
  await checkpoint(client);
}

/** After it, the server writes its log into files that it has. */
export const checkpoint = (client) => client.query('checkpoint');
