import { createReadStream } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BOT_USERS } from '../src/api/access/accounts/bot-users.resource.js';
import { evolve, type Principal, type PrincipalEvent } from '../src/api/access/accounts/principal.js';
import { principalsReadModel } from '../src/api/access/accounts/principals.read-model.js';
import { READ_MODELS } from '../src/api/read-models.js';
import { historyPage } from '../src/api/resources/history.js';
import type { ResourceDescriptor } from '../src/api/resources/resource-descriptor.js';
import { type Database, openDatabase } from '../src/database/database.js';
import { AsOfQueries } from '../src/event-log/read/as-of-queries.js';
import { LogPages } from '../src/event-log/read/log-pages.js';
import { LogReader } from '../src/event-log/read/log-reader.js';
import type { ReadModel } from '../src/event-log/read-model.js';
import { verify } from '../src/event-log/verify/verify.js';
import type { Role } from '../src/kernel/caller.js';
import { linesOf } from '../src/operator/audit/ndjson.js';
import { provenOf } from './support/found.js';
import { frozenEvents, frozenFile, frozenLines, frozenLogs, frozenRows } from './support/frozen-logs.js';
import { imported } from './support/imported.js';
import { repaired } from './support/repaired.js';
import { cloneDatabase, testConfig } from './support/service.js';

/** What the log holds. A later version may no longer write it. */
const STORED = 'bot_user_created.v1';

/** The form that the later version writes: the event names the role, for which today's fold has a default. */
interface BotCreated {
  readonly type: 'bot_user_created.v2';
  readonly data: { readonly name: string; readonly active: boolean; readonly role: Role };
}
type LaterEvent = Exclude<PrincipalEvent, { type: typeof STORED }> | BotCreated;

/** The read model of the later version: a contributor adds the new type, and gives the old one its upcaster. */
const LATER: ReadModel<Principal, LaterEvent> = {
  ...principalsReadModel,
  events: {
    ...(principalsReadModel.events as object as ReadModel<Principal, LaterEvent>['events']),
    'bot_user_created.v2': { isStart: true },
    [STORED]: {
      isStart: true,
      upcast: (data: Omit<BotCreated['data'], 'role'>) => ({
        type: 'bot_user_created.v2',
        data: { ...data, role: 'member' },
      }),
    },
  },
  evolve(state, event) {
    if (String(event.type) === STORED) throw new Error(`${STORED} has reached the fold`);
    if (event.type !== 'bot_user_created.v2') return evolve(state, event);
    return { kind: 'bot', email: '', deleted: false, ...event.data };
  },
};
const MODELS = READ_MODELS.map((model) => (model === principalsReadModel ? LATER : model));
const LATER_BOTS: ResourceDescriptor<Principal, LaterEvent> = { ...BOT_USERS, model: LATER };

const [log = ''] = frozenLogs();
const events = frozenEvents(log);
const account = events[0]?.account_id ?? '';
const bots = events.filter(({ type }) => type === STORED).map(({ stream_id: id }) => ({ accountId: account, id }));

describe('a version with an upcaster for a type of event that it no longer writes', () => {
  let database: Database;
  let clone: Awaited<ReturnType<typeof cloneDatabase>>;
  beforeAll(async () => {
    clone = await cloneDatabase();
    database = await openDatabase(testConfig(clone.url), () => undefined);
    await imported(database, linesOf(createReadStream(frozenFile(log, 'log.ndjson'))), MODELS);
  });
  afterAll(async () => {
    await database.close();
    await clone.drop();
  });

  const rows = async (): Promise<object[]> => {
    const client = await database.pool.connect();
    try {
      await client.query(`begin; set local timezone = 'UTC'`);
      return await frozenRows(client);
    } finally {
      await client.query('rollback');
      client.release();
    }
  };

  it('imports, proves and repairs a log of before into the same rows', async () => {
    expect(await rows()).toMatchObject(frozenLines(log, 'rows.ndjson'));
    expect(await provenOf(database, { all: MODELS, proven: [LATER] })).toMatchObject({ faults: [], differences: [] });
    await database.pool.query('delete from principals');
    await repaired(database, { models: [LATER] });
    expect(await rows()).toMatchObject(frozenLines(log, 'rows.ndjson'));
  });

  it('answers as_of and histories as before', async () => {
    const reader = new LogReader(database.pool);
    expect(bots.length).toBeGreaterThan(2);
    for (const bot of bots) {
      const page = async <Event extends LaterEvent | PrincipalEvent>(
        resource: ResourceDescriptor<Principal, Event>,
      ) => {
        const history = reader.ofStreams(account, [bot.id], events.length);
        return (await historyPage(resource, history, { query: {}, baseUrl: '' }, '')).page;
      };
      expect(await page(LATER_BOTS)).toEqual(await page(BOT_USERS));
      for (const { position } of events.filter(({ stream_id }) => stream_id === bot.id)) {
        const entity = await reader.entityAt(LATER, bot, position);
        expect(entity).toEqual(await reader.entityAt(principalsReadModel, bot, position));
      }
    }
    const page = { accountId: account, idPrefix: 'bot', beforeId: null, max: 50, position: events.length };
    const list = new AsOfQueries(database.pool);
    expect(await list.list(LATER, page, () => true)).toEqual(await list.list(principalsReadModel, page, () => true));
  });

  it('shows the stored events in the feed, and finds their hashes in order', async () => {
    const { events: fed } = await new LogPages(database.pool).page(account, { after: 0, upTo: events.length });
    const stored = ({ type, data }: { readonly type: string; readonly data: string }) => ({ type, data });
    expect(fed.map(stored)).toEqual(events.map(stored));
    const faults: unknown[] = [];
    await verify(database, MODELS, {
      account,
      keysOf: () => [],
      begin: () => undefined,
      events: () => undefined,
      fault: (one) => faults.push(one),
    });
    expect(faults).toEqual([]);
  });
});
