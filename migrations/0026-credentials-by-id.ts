import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Gateways know credentials by their ids alone. The index on (id) that serves them also had the order of a list, so a
 * plan for all values took it for a page of an account, and read the rows of all other accounts in vain. The operator class
 * makes an index that finds equal ids and has no order that a query asks for. Earlier versions use it without a change.
 */
export class CredentialsById1763683200026 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create index ssh_credentials_by_id on ssh_credentials (id text_pattern_ops)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index ssh_credentials_by_id');
  }
}
