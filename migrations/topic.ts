import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A topic of the schema of version 1.0. Until 1.0 a change goes into its topic's file, whose class then gets a new number:
 * a database made before is refused, and never taken for one that has the change. From 1.0 on, files are only added.
 */
export abstract class Topic implements MigrationInterface {
  /** SQL, one or several statements. */
  protected abstract readonly schema: string;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(this.schema);
  }

  async down(): Promise<void> {
    throw new Error('the schema is never taken back: a log would be lost');
  }
}
