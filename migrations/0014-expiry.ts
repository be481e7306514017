import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds when SSH credentials and API keys expire, and the networks that a credential may be used from. Null: never, and
 * from anywhere. No constraint holds the values to a form: the rows are what the log makes them.
 */
export class Expiry1763683200014 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table ssh_credentials add column expires_at timestamptz, add column source_cidrs text[]');
    await runner.query('alter table api_keys add column expires_at timestamptz');
    // For the credentials of all accounts that expire between two times.
    await runner.query(
      'create index ssh_credentials_expiry on ssh_credentials (expires_at, id) where expires_at is not null',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table api_keys drop column expires_at');
    await runner.query('alter table ssh_credentials drop column source_cidrs, drop column expires_at');
  }
}
