import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Read model of SSH credentials. The columns after owner_id are for gateways, and the API never returns them. */
export class SshCredentials1763683200003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table ssh_credentials (
        account_id text collate "C" not null,
        id text collate "C" not null,
        version int not null,
        created_at timestamptz not null,
        description text not null,
        metadata text not null,
        public_key text not null,
        acl text[] not null,
        owner_id text collate "C" not null,
        key_type text not null,
        key_bits int not null,
        key_blob text not null,
        fingerprint text collate "C" not null,
        exclusive boolean not null,
        constraint ssh_credentials_pk primary key (account_id, id)
      ) with (fillfactor = 80)`);
    await runner.query('create index ssh_credentials_fingerprint on ssh_credentials (fingerprint)');
    await runner.query('create index ssh_credentials_owner on ssh_credentials (account_id, owner_id)');
    // Strict mode only: otherwise an account may grant a key several times.
    await runner.query(`
      create unique index ssh_credentials_exclusive_key on ssh_credentials (account_id, fingerprint) where exclusive`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table ssh_credentials');
  }
}
