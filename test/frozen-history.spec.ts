import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { REPOSITORY } from './support/documents.js';
import { frozenEvents, frozenFile, frozenLines, frozenLogs, frozenRows, typesWithout } from './support/frozen-logs.js';
import { FROZEN_URL, recordFrozenLog } from './support/frozen-recording.js';
import { runCli } from './support/process.js';
import { cloneDatabase, type Service, startCopy } from './support/service.js';

it('every type of event is in a frozen log', async () => {
  if (process.env.RECORD_FROZEN === 'true') await recordFrozenLog();
  const missing = typesWithout(frozenLogs().flatMap(frozenEvents));
  const advice = 'before a release, `npm run freeze` records a log that holds them; see docs/architecture.md';
  expect({ missing, advice }).toEqual({ missing: [], advice });
});

/** An event as the log has it. Fields that the feed hides are not in the answer that was recorded. */
interface FedEvent {
  readonly data: object;
}

/** With the changes of an event by their field, since a later version may have more fields. */
const byField = (body: object): object =>
  JSON.parse(JSON.stringify(body), (key, value) =>
    key === 'changes' ? Object.fromEntries(value.map((change: { field: string }) => [change.field, change])) : value,
  );

for (const name of frozenLogs())
  describe(`the frozen ${name}`, () => {
    const events = frozenEvents(name);
    const file = (of: string): string => frozenFile(name, of);
    let database: Awaited<ReturnType<typeof cloneDatabase>>;
    let sql: pg.Client;
    let service: Service;

    beforeAll(async () => {
      database = await cloneDatabase();
      sql = new pg.Client(database.url);
      await sql.connect();
      const imported = await runCli({ DATABASE_URL: database.url }, 'audit', 'import', file('log.ndjson'));
      expect(imported).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/rows made from these events, and proven\n$/),
      });
    });
    afterAll(async () => {
      await service.stop();
      await sql.end();
      await database.drop();
    });

    it('is the one that was signed, by the verifier that is not ours', async () => {
      const paths = ['log.ndjson', 'checkpoint', 'key'].map(file);
      const { stdout } = await promisify(execFile)(process.execPath, [`${REPOSITORY}docs/verify-log.mjs`, ...paths]);
      expect(stdout).toMatch(`OK: the first ${events.length} of ${events.length} events are those that`);
    });

    it('is in order by audit verify, which holds it to its checkpoint', async () => {
      const held = ['--key', file('key'), '--checkpoint', file('checkpoint')];
      const verified = await runCli({ DATABASE_URL: database.url }, 'audit', 'verify', ...held);
      expect(verified).toMatchObject({ code: 0, stdout: '' });
    });

    it('makes the rows that it made then', async () => {
      await sql.query(`set timezone = 'UTC'`);
      // A later version may have more columns.
      expect(await frozenRows(sql)).toMatchObject(frozenLines(name, 'rows.ndjson'));
    });

    it('gives the answers of then to as_of, histories and the feed', async () => {
      service = await startCopy({ databaseUrl: database.url }, { publicUrl: FROZEN_URL });
      for (const { path, body } of frozenLines(name, 'answers.ndjson')) {
        const answer = await service.admin.get(path);
        expect({ path, body: byField(answer.body) }).toMatchObject({ path, body: byField(body) });
        if (!path.startsWith('/events')) continue;
        const dataOf = ({ events: fed }: { events: FedEvent[] }) => fed.map(({ data }) => data);
        expect(dataOf(answer.body)).toEqual(dataOf(body));
      }
    });
  });
