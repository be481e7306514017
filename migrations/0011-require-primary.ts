import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `require_primary()` is true, and raises 25006 on a standby, which would answer from the past. Each read asks for it:
 * behind a pooler a statement may reach another server than the one before it on the same connection. It is stable, so
 * a statement calls it once, before it reads a row.
 */
export class RequirePrimary1763683200011 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create function require_primary() returns boolean language plpgsql stable parallel safe cost 1 as $$
      begin
        if pg_is_in_recovery() then
          raise read_only_sql_transaction using message = 'the server is a standby, not the primary';
        end if;
        return true;
      end $$`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop function require_primary()');
  }
}
