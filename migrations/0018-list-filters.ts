import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Indexes for the filters of the list of SSH credentials: each page costs what it shows. */
export class ListFilters1763683200018 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create index ssh_credentials_owner_id on ssh_credentials (account_id, owner_id, id)');
    // The expressions are only here, so that a plan for this filter has no other index to take: see by_index.
    await runner.query(`
      create index ssh_credentials_account_expiry on ssh_credentials ((account_id || ''), coalesce(expires_at, 'infinity'))
        where coalesce(expires_at, 'infinity') < 'infinity'`);
    // Dropping an index locks readers out until the commit, so the drop comes after the new indexes are built.
    await runner.query('drop index ssh_credentials_owner');
    await runner.query('alter index ssh_credentials_owner_id rename to ssh_credentials_owner');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index ssh_credentials_owner, ssh_credentials_account_expiry');
    await runner.query('create index ssh_credentials_owner on ssh_credentials (account_id, owner_id)');
  }
}
