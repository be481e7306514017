/**
 * Brings a new server into the state that it has after an hour. A new server is slower: each page of its shared memory
 * is new to the operating system, and each 16 MB of its write-ahead log begin with a new file, which some commit must
 * fill with zeros. Later the server reuses its memory and these files.
 */
const ROW_BYTES = 2000;

/** Writes as much data as the shared memory of the server holds, and drops it again. */
export async function ageServer(client) {
  const { rows } = await client.query(`select pg_size_bytes(current_setting('shared_buffers')) as bytes`);
  const count = Math.ceil(rows[0].bytes / ROW_BYTES);
  await client.query('create table filler (row text)');
  await client.query(`insert into filler select repeat('x', ${ROW_BYTES}) from generate_series(1, ${count})`);
  await client.query('drop table filler');
  await checkpoint(client);
}

/** After a checkpoint the server writes its log into files that exist already. */
export const checkpoint = (client) => client.query('checkpoint');
