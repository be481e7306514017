import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What a version of the service must know to use this database. A migration that earlier versions cannot live with adds
 * a row with its own name; a version that does not know the name refuses the database. Without such a row earlier
 * versions go on, so instances can be upgraded one after the other.
 */
export class SchemaRequirements1763683200013 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table schema_requirements (
        migration text collate "C" not null,
        min_version text not null,
        constraint schema_requirements_pk primary key (migration)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table schema_requirements');
  }
}
