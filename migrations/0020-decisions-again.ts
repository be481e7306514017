import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What a bind decision needs to be made again from the log: the position of the account's log, the database's time by
 * which credentials had expired, the circumstances that are settings, and the rule. Earlier decisions have none of it.
 */
export class DecisionsAgain1763683200020 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      alter table bind_decisions add column log_position bigint, add column rule_index int, add column read_at timestamptz,
        add column key_denied boolean, add column gateway_account text collate "C"`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      alter table bind_decisions drop column log_position, drop column rule_index, drop column read_at,
        drop column key_denied, drop column gateway_account`);
  }
}
