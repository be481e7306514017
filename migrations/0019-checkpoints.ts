import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The Merkle tree of each log, as tiles, and its signed checkpoints. A checkpoint is written once; each but the first
 * follows another, and of two instances that seal at the same time the key on `follows` lets one through.
 */
export class Checkpoints1763683200019 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table log_checkpoints (
        account_id text collate "C" not null,
        size bigint not null,
        follows bigint not null,
        note text not null,
        sealed_at timestamptz not null default clock_timestamp(),
        constraint log_checkpoints_pk primary key (account_id, size),
        constraint log_checkpoints_follows unique (account_id, follows),
        constraint log_checkpoints_grow check (size > follows)
      )`);
    await runner.query(`
      create trigger log_checkpoints_guard before update or delete or truncate on log_checkpoints
      for each statement execute function refuse_change_of_history()`);
    await runner.query(`
      create table log_tiles (
        account_id text collate "C" not null,
        level int not null,
        index bigint not null,
        hashes bytea not null,
        constraint log_tiles_pk primary key (account_id, level, index)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table log_tiles');
    await runner.query('drop table log_checkpoints');
  }
}
