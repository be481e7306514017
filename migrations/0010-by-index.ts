import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `by_index(column)` is true for every row. PostgreSQL believes that it is dear, so no plan calls it for each row of a
 * table, as a scan would. Without it, a prepared statement that is planned while a table is small scans the table for
 * as long as its plan lasts, however large the table becomes. It is written in plpgsql, since SQL would be inlined.
 */
export class ByIndex1763683200010 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create function by_index(text) returns boolean language plpgsql immutable parallel safe cost 4000 as $$
      begin
        return true;
      end $$`);
    await this.refuseDeletedOwners(runner, 'and by_index(p.id)');
    // A login without OIDC_ACCOUNT is for the oldest account.
    await runner.query('create index accounts_age on accounts (created_at, account_id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index accounts_age');
    await this.refuseDeletedOwners(runner, '');
    await runner.query('drop function by_index(text)');
  }

  /** The plan of a trigger's query is kept too. */
  private async refuseDeletedOwners(runner: QueryRunner, hint: string): Promise<void> {
    await runner.query(`
      create or replace function refuse_deleted_owners() returns trigger language plpgsql as $$
      begin
        if exists (
          select from added a join principals p on p.account_id = a.account_id and p.id = a.owner_id
          where p.deleted ${hint}
        ) then
          raise exception 'the owner is deleted'
            using errcode = 'foreign_key_violation', constraint = 'owner_deleted', table = tg_table_name;
        end if;
        return null;
      end $$`);
  }
}
