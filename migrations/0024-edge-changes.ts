import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What a gateway that serves edges asks: which ports of a host edges list, and which edges have changed, over all accounts
 * or over one. The collation makes the hostports of a host a range of the index, whatever the locale of the database.
 */
export class EdgeChanges1763683200024 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create index events_of_edges on events (transaction_id)
      where transaction_id is not null and left(stream_id, 4) in ('edgt', 'ipp_', 'ipr_', 'bkdt')`);
    await runner.query('create index tcp_edge_hostports_range on tcp_edge_hostports (hostport collate "C")');
    await runner.query(`
      create index tcp_edge_hostports_account_range on tcp_edge_hostports (account_id, hostport collate "C")`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop index events_of_edges, tcp_edge_hostports_range, tcp_edge_hostports_account_range');
  }
}
