import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The transaction of each event, so that an instance finds the events of all accounts that were committed since it last
 * looked: those whose transaction its last snapshot did not see. Times cannot tell, since a transaction may commit long
 * after its time. Events of before have none. Only events that can change an answer to a gateway are indexed.
 */
export class CredentialChanges1763683200017 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Two statements: a default that differs from row to row would write the table anew.
    await runner.query('alter table events add column transaction_id xid8');
    await runner.query('alter table events alter column transaction_id set default pg_current_xact_id()');
    await runner.query(`
      create index events_of_answers on events (transaction_id)
      where transaction_id is not null and left(stream_id, 4) in ('sshc', 'usr_', 'bot_')`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index events_of_answers');
    await runner.query('alter table events drop column transaction_id');
  }
}
