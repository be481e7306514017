import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DedicatedConnections } from '../src/database/dedicated-connections.js';
import { rebuild } from '../src/log/rebuild/rebuild.js';
import { READ_MODELS } from '../src/read-models.js';
import { type Service, startService } from './support/service.js';

/** In this database JIT is on for every session, and what long operations call notes whether it is on at that time. */
let service: Service;
beforeAll(async () => {
  service = await startService();
  await service.pool.query(`
    do $$ begin execute format('alter database %I set jit = on', current_database()); end $$;
    create schema spy;
    create table spy.seen (place text, jit text);
    create function spy.on_command() returns event_trigger language plpgsql as $$
      begin insert into spy.seen values ('command', current_setting('jit')); end $$;
    create event trigger spy_on_commands on ddl_command_end execute function spy.on_command();`);
  await service.pool.query('truncate spy.seen');
});
afterAll(() => service.stop());

const seen = async () => (await service.pool.query('select distinct place, jit from spy.seen')).rows;
const database = () => ({ dataSource: service.app.database.dataSource });

describe('JIT, where the database has it on', () => {
  it('is off in every transaction of a dedicated connection, and only there', async () => {
    await DedicatedConnections.use(database(), async (connections) => {
      const jit = async (client: { query: (text: string) => Promise<{ rows: { jit: string }[] }> }) =>
        (await client.query('show jit')).rows[0]?.jit;
      for (const client of [await connections.openSnapshot(), await connections.openTransaction()]) {
        expect(await jit(client)).toBe('off');
        await client.query('commit');
        expect(await jit(client)).toBe('on');
      }
    });
  });

  it('is off while a rebuild works', async () => {
    const watcher = {
      step: () => undefined,
      events: () => undefined,
      waiting: () => undefined,
      swapped: () => undefined,
    };
    await rebuild(database(), { all: READ_MODELS, rebuilt: READ_MODELS }, watcher);
    expect(await seen()).toEqual([{ place: 'command', jit: 'off' }]);
  });
});
