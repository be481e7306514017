import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Because `by_index` looks dear, PostgreSQL shared statements that call it among processes, while a table had grown and was not
 * analyzed yet. To start a process takes longer than any look-up. A statement with a function that is unsafe in parallel
 * has one process.
 */
export class ByIndexAlone1763683200025 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter function by_index(text) parallel unsafe');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter function by_index(text) parallel safe');
  }
}
