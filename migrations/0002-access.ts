import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Read models for authentication: accounts, principals (users and bots) and their API keys. */
export class Access1763683200002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table accounts (
        account_id text collate "C" not null,
        id text collate "C" not null,
        version int not null,
        created_at timestamptz not null,
        name text not null,
        admins text[] not null,
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
        deleted boolean not null,
        constraint principals_pk primary key (account_id, id)
      )`);
    // A deleted principal keeps its row, without name and email, so that no resource can name it as its owner again.
    await runner.query(`
      create unique index principals_user_email on principals (account_id, lower(email))
      where kind = 'user' and not deleted`);
    await runner.query(`
      create unique index principals_bot_name on principals (account_id, name) where kind = 'bot' and not deleted`);
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
    await runner.query('create index api_keys_owner on api_keys (account_id, owner_id, id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table api_keys, principals, accounts');
  }
}
