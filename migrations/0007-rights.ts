import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The head of a log knows the last event that may have taken rights: an append decided before it is decided again. */
export class Rights1763683200007 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // 0 is right for the existing logs: no request that an earlier version authenticated is still under way here.
    await runner.query('alter table log_heads add column rights_position bigint not null default 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table log_heads drop column rights_position');
  }
}
