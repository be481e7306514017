import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Drops the index that CredentialsById replaces. */
export class NoOrderOfIds1763683200027 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('drop index ssh_credentials_id');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('create index ssh_credentials_id on ssh_credentials (id)');
  }
}
