import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Bind decisions sent to gateways, and the last use of each credential. Not read models: no event makes these rows. */
export class BindDecisions1763683200006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // account_id, credential_id and owner_id are empty if the key is unknown.
    await runner.query(`
      create table bind_decisions (
        account_id text collate "C" not null,
        id text collate "C" not null,
        decided_at timestamptz not null,
        credential_id text collate "C" not null,
        credential_version int,
        owner_id text collate "C" not null,
        fingerprint text collate "C" not null,
        target jsonb not null,
        allowed boolean not null,
        reason text not null,
        rule text,
        gateway text not null,
        source text,
        constraint bind_decisions_pk primary key (account_id, id)
      )`);
    // Ids increase with time, so this index finds the oldest decisions of all accounts.
    await runner.query('create index bind_decisions_age on bind_decisions (id)');
    await runner.query(`
      create index bind_decisions_credential on bind_decisions (account_id, credential_id, id) where account_id <> ''`);
    await runner.query(`
      create function refuse_change_of_decisions() returns trigger language plpgsql as $$
      begin
        raise exception 'bind_decisions are append-only: % refused', tg_op using errcode = 'restrict_violation';
      end $$`);
    // DELETE is allowed: decisions older than DECISIONS_RETENTION_DAYS are removed.
    await runner.query(`
      create trigger bind_decisions_guard before update or truncate on bind_decisions
      for each statement execute function refuse_change_of_decisions()`);
    await runner.query(`
      create table credential_usage (
        account_id text collate "C" not null,
        credential_id text collate "C" not null,
        last_used_at timestamptz not null,
        constraint credential_usage_pk primary key (account_id, credential_id)
      ) with (fillfactor = 50)`);
    // A key belongs to the account of its oldest credential; gateways know credentials by their ids alone.
    // Dropping an index locks readers out until the commit, so the drop comes after the new indexes are built.
    await runner.query('create index ssh_credentials_fingerprint_id on ssh_credentials (fingerprint, id)');
    await runner.query('create index ssh_credentials_id on ssh_credentials (id)');
    await runner.query('drop index ssh_credentials_fingerprint');
    await runner.query('alter index ssh_credentials_fingerprint_id rename to ssh_credentials_fingerprint');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index ssh_credentials_id, ssh_credentials_fingerprint');
    await runner.query('create index ssh_credentials_fingerprint on ssh_credentials (fingerprint)');
    await runner.query('drop table credential_usage, bind_decisions');
    await runner.query('drop function refuse_change_of_decisions()');
  }
}
