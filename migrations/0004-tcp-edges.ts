import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Read model of TCP edges, and an index of their canonical hostports. */
export class TcpEdges1763683200004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // jsonb rather than json: it also keeps every character of a string, and it can be compared, so live rows and
    // replayed rows are equal in any order of keys. Null: the edge does not have the module.
    await runner.query(`
      create table tcp_edges (
        account_id text collate "C" not null,
        id text collate "C" not null,
        version int not null,
        created_at timestamptz not null,
        description text not null,
        metadata text not null,
        hostports jsonb not null,
        backend jsonb,
        ip_restriction jsonb,
        traffic_policy jsonb,
        constraint tcp_edges_pk primary key (account_id, id)
      ) with (fillfactor = 80)`);
    await runner.query(`
      create table tcp_edge_hostports (
        account_id text collate "C" not null,
        edge_id text collate "C" not null,
        hostport text collate "C" not null,
        exclusive boolean not null,
        constraint tcp_edge_hostports_pk primary key (account_id, edge_id, hostport)
      )`);
    await runner.query('create index tcp_edge_hostports_by_hostport on tcp_edge_hostports (hostport, edge_id)');
    // Strict mode only, across all accounts: a hostport is an address of the deployment that one edge can serve.
    await runner.query(`
      create unique index tcp_edge_hostports_exclusive on tcp_edge_hostports (hostport) where exclusive`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table tcp_edge_hostports, tcp_edges');
  }
}
