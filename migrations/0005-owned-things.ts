import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Nothing new for a deleted owner. A create looks its owner up before it is queued, so only the tables can refuse what was
 * overtaken by the deletion: appends of one account go one after another, and this looks after the append's turn has come.
 */
export class OwnedThings1763683200005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create function refuse_deleted_owners() returns trigger language plpgsql as $$
      begin
        if exists (
          select from added a join principals p on p.account_id = a.account_id and p.id = a.owner_id where p.deleted
        ) then
          raise exception 'the owner is deleted'
            using errcode = 'foreign_key_violation', constraint = 'owner_deleted', table = tg_table_name;
        end if;
        return null;
      end $$`);
    for (const table of ['ssh_credentials', 'api_keys']) {
      await runner.query(`
        create trigger ${table}_owner after insert on ${table} referencing new table as added
        for each statement execute function refuse_deleted_owners()`);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop trigger ssh_credentials_owner on ssh_credentials');
    await runner.query('drop trigger api_keys_owner on api_keys');
    await runner.query('drop function refuse_deleted_owners()');
  }
}
