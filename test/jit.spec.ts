import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DedicatedConnections } from '../src/database/dedicated-connections.js';
import { newPublicKey } from './support/keys.js';
import { repaired } from './support/repaired.js';
import { type Service, startService } from './support/service.js';

/** In this database JIT is on for every session, and what long operations call notes whether it is on at that time. */
let service: Service;
beforeAll(async () => {
  service = await startService();
  await service.pool.query(`
    do $$ begin execute format('alter database %I set jit = on', current_database()); end $$;
    create schema spy;
    create table spy.seen (place text, jit text);
    create function spy.on_row() returns trigger language plpgsql as $$
      begin insert into spy.seen values ('row', current_setting('jit')); return new; end $$;
    create trigger spy_on_rows after insert on ssh_credentials for each row execute function spy.on_row();`);
  await service.admin.post('/ssh_credentials', { public_key: newPublicKey() });
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

  it('is off while a repair works', async () => {
    await service.pool.query('delete from tcp_edges; delete from ssh_credentials');
    await repaired(service.app.database);
    expect(await seen()).toEqual([{ place: 'row', jit: 'off' }]);
  });
});
