import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The streams that have ended, in the order of lists, for lists as of an earlier position: see `log/read/as-of-queries.ts`.
 * Only of the resources that such lists select by a field. Building it takes about a second a million events; appends wait
 * meanwhile.
 */
export class EndedStreams1763683200028 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // The expression is only here, so that a plan has no other index to take: see by_index.
    await runner.query(`
      create index events_ends on events ((account_id || ''), stream_id, position)
      where type in ('ssh_credential_deleted.v1', 'api_key_deleted.v1')`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index events_ends');
  }
}
