import pg from 'pg';

/** The connection of this worker for all its files: each costs PostgreSQL half as much as a clone of a database. */
let connecting;
let pending = 0;

async function connect(serverUrl) {
  const client = new pg.Client(`${serverUrl}/postgres`);
  // The server stops before this process ends.
  client.on('error', () => {
    connecting = undefined;
  });
  await client.connect();
  return client;
}

/** Runs a statement of the superuser, such as one that makes a database. */
export async function asServer(serverUrl, statement) {
  connecting ??= connect(serverUrl);
  const client = await connecting;
  pending += 1;
  client.ref();
  try {
    await client.query(statement);
  } finally {
    pending -= 1;
    // An idle connection does not keep the worker.
    if (pending === 0) client.unref();
  }
}
