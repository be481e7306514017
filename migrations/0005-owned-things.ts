import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Refuses new resources of a deleted owner. A create checks its owner before it is queued, and the owner may be deleted
 * before its append runs. Appends of one account run one after another, and this trigger checks within the append.
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
