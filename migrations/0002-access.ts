import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Read models of who may call: accounts, principals (users and bots) and their API keys. */
export class Access1763683200002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table accounts (
        account_id text collate "C" not null,
        id text collate "C" not null,
        version int not null,
        created_at timestamptz not null,
        name text not null,
        constraint accounts_pk primary key (account_id, id)
      )`);
    await runner.query(`
      create table principals (
        account_id text collate "C" not null,
        id text collate "C" not null,
        version int not null,
        created_at timestamptz not null,
        kind text not null,
        name text not null,
        email text not null,
        role text not null,
        active boolean not null,
        constraint principals_pk primary key (account_id, id)
      )`);
    await runner.query(`
      create table api_keys (
        account_id text collate "C" not null,
        id text collate "C" not null,
        version int not null,
        created_at timestamptz not null,
        owner_id text collate "C" not null,
        description text not null,
        metadata text not null,
        token_hash text collate "C" not null,
        constraint api_keys_pk primary key (account_id, id),
        constraint api_keys_token_hash unique (token_hash)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table api_keys, principals, accounts');
  }
}
