import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A topic of the schema of version 1.0, which a change of the schema edits until then. All classes then get later numbers in
 * the same order, since a topic may need those before it: a database made before is refused. From 1.0 on, files are only
 * added.
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
