import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Deleted users and bots whose API keys and SSH credentials may remain. Not a read model: a row goes when its work is
 * done, which no event records. A trigger adds the rows, so a deletion and its row share a transaction on every path to
 * the table, an import of a log included.
 */
export class PendingRemovals1763683200009 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // The request that deletes an owner also removes what it owns; others take over when the row is due.
    await runner.query(`
      create table pending_removals (
        account_id text collate "C" not null,
        owner_id text collate "C" not null,
        due_at timestamptz not null default clock_timestamp() + interval '5 seconds',
        constraint pending_removals_pk primary key (account_id, owner_id)
      )`);
    await runner.query('create index pending_removals_due on pending_removals (due_at)');
    await runner.query(`
      create function add_pending_removal() returns trigger language plpgsql as $$
      begin
        insert into pending_removals (account_id, owner_id) values (new.account_id, new.id) on conflict do nothing;
        return null;
      end $$`);
    await runner.query(`
      create trigger principals_deleted after insert or update on principals
      for each row when (new.deleted) execute function add_pending_removal()`);
    // Deletions that earlier versions of the service left unfinished.
    await runner.query(`
      insert into pending_removals (account_id, owner_id) select p.account_id, p.id from principals p where p.deleted and (
        exists (select from ssh_credentials o where o.account_id = p.account_id and o.owner_id = p.id)
        or exists (select from api_keys o where o.account_id = p.account_id and o.owner_id = p.id))`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop trigger principals_deleted on principals');
    await runner.query('drop function add_pending_removal()');
    await runner.query('drop table pending_removals');
  }
}
