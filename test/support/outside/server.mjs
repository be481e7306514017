import pg from 'pg';

/** The one connection of this worker, for all its files. */
let connecting;
let pending = 0;

async function connect(serverUrl) {
  const client = new pg.Client(`${serverUrl}/postgres`);
  // The server may stop before this process ends.
  client.on('error', () => {
    connecting = undefined;
  });
  await client.connect();
  return client;
}

/** Runs a statement as the superuser, such as one that makes a database. */
export async function asServer(serverUrl, statement) {
  connecting ??= connect(serverUrl);
  const client = await connecting;
  pending += 1;
  client.ref();
  try {
    await client.query(statement);
  } finally {
    pending -= 1;
    // An idle connection does not keep the worker alive.
    if (pending === 0) client.unref();
  }
}
