import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Values that belong to one account of the deployment, and since when an edge has listed a hostport. A claim counts the rows
 * of its account that have the value. `exclusive` is false for the claims of accounts that shared a value before, and the
 * unique index decides which of two accounts that claim a free value at once gets it.
 */
export class Claims1763683200030 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Else what an instance appends meanwhile would have no claim.
    await runner.query('lock table ssh_credentials, tcp_edge_hostports in share row exclusive mode');
    await runner.query('alter table tcp_edge_hostports add column listed_at timestamptz');
    await runner.query(`
      update tcp_edge_hostports t set listed_at = e.created_at from tcp_edges e
      where e.account_id = t.account_id and e.id = t.edge_id`);
    await runner.query('alter table tcp_edge_hostports alter column listed_at set not null');
    await runner.query('drop index tcp_edge_hostports_by_hostport');
    await runner.query(`
      create index tcp_edge_hostports_by_hostport on tcp_edge_hostports (hostport, listed_at, edge_id)`);
    await runner.query(`
      create table claims (
        value text collate "C" not null,
        account_id text collate "C" not null,
        holders int not null,
        exclusive boolean not null,
        constraint claims_pk primary key (value, account_id)
      ) with (fillfactor = 80)`);
    await runner.query(`
      insert into claims (value, account_id, holders, exclusive)
      select value, account_id, holders, row_number() over (partition by value order by since, account_id) = 1 from (
        select 'hostport:' || hostport as value, account_id, count(*) as holders, min(listed_at) as since
          from tcp_edge_hostports group by hostport, account_id
        union all select 'key:' || fingerprint, account_id, count(*), min(created_at)
          from ssh_credentials group by fingerprint, account_id
      ) held`);
    await runner.query('create unique index claims_exclusive on claims (value) where exclusive');
    // A statement cannot delete a row that it has updated.
    await runner.query(`
      create function free_claim() returns trigger language plpgsql as $$
      begin
        delete from claims c where c.value = new.value and c.account_id = new.account_id and by_index(c.value);
        return null;
      end $$`);
    await runner.query(`
      create trigger claims_free after insert or update on claims for each row when (new.holders <= 0)
      execute function free_claim()`);
    // An earlier version would write rows without their claims.
    await runner.query(
      `insert into schema_requirements (migration, min_version) values ('Claims1763683200030', '0.1.0')`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`delete from schema_requirements where migration = 'Claims1763683200030'`);
    await runner.query('drop table claims');
    await runner.query('drop function free_claim()');
    await runner.query('drop index tcp_edge_hostports_by_hostport');
    await runner.query('create index tcp_edge_hostports_by_hostport on tcp_edge_hostports (hostport, edge_id)');
    await runner.query('alter table tcp_edge_hostports drop column listed_at');
  }
}
