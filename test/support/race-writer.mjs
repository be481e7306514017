/**
 * A second process in the races of event-log.spec.ts: node race-writer.mjs <database url> <account> <job>. The job is
 * `append <stream prefix> <writers> <appends each>` or `race <streams> <rivals>`. Prints the result of each append as
 * JSON.
 */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { DEFAULT_BATCHER_LIMITS } from '../../dist/src/event-log/append/batcher.js';
import { EventLog } from '../../dist/src/event-log/append/event-log.js';

const [url, accountId, job, ...args] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: url, max: 4 });
const log = new EventLog(pool, (message) => console.error(message), DEFAULT_BATCHER_LIMITS, 50_000);

const append = (streamId, streamVersion) =>
  log
    .append({
      accountId,
      metadata: { actor: 'system' },
      occurredAt: new Date(),
      streams: [
        {
          model: { tables: [], events: {} },
          id: streamId,
          before: streamVersion > 1 ? { version: streamVersion - 1 } : undefined,
          events: [{ type: 'tested.v1', data: {} }],
          after: undefined,
          eventId: randomUUID(),
        },
      ],
    })
    .then(
      () => 'ok',
      (error) => error.name,
    );

const jobs = {
  append: (prefix, writers, each) =>
    Array.from({ length: Number(writers) }, async (_, writer) => {
      const ends = [];
      for (let i = 1; i <= Number(each); i += 1) ends.push(await append(`${prefix}_${writer}`, i));
      return ends;
    }),
  race: (streams, rivals) =>
    streams.split(',').map((stream) => Promise.all(Array.from({ length: Number(rivals) }, () => append(stream, 1)))),
};

console.log(JSON.stringify((await Promise.all(jobs[job](...args))).flat()));
await pool.end();
