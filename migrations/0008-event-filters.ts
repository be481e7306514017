import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Indexes for the filters of `/events`. Building them takes about ten seconds a million events; appends wait meanwhile. */
export class EventFilters1763683200008 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // An index needs an immutable expression. The cast of text to json is only stable, though it depends on no setting.
    // A session keeps a plpgsql function ready, while each append would parse one in SQL anew.
    await runner.query(`
      create function event_actor(metadata text) returns text language plpgsql immutable strict parallel safe as $$
      begin
        return metadata::json ->> 'actor';
      end $$`);
    await runner.query('create index events_type on events (account_id, type, position)');
    // An actor has few types of events, so this index also serves a filter by actor alone, type by type.
    await runner.query('create index events_actor on events (account_id, event_actor(metadata), type, position)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index events_type, events_actor');
    await runner.query('drop function event_actor(text)');
  }
}
