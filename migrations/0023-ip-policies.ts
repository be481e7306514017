import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Read models of IP policies, their rules and tunnel groups, and the guards of what belongs together. */
export class IpPolicies1763683200023 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const entity = `account_id text collate "C" not null,
        id text collate "C" not null,
        version int not null,
        created_at timestamptz not null,
        description text not null,
        metadata text not null`;
    await runner.query(`
      create table ip_policies (
        ${entity},
        constraint ip_policies_pk primary key (account_id, id)
      ) with (fillfactor = 80)`);
    await runner.query(`
      create table ip_policy_rules (
        ${entity},
        ip_policy_id text collate "C" not null,
        cidr text collate "C" not null,
        action text not null,
        constraint ip_policy_rules_pk primary key (account_id, id)
      ) with (fillfactor = 80)`);
    // It also finds the rules of a policy.
    await runner.query('create unique index ip_policy_rules_cidr on ip_policy_rules (account_id, ip_policy_id, cidr)');
    await runner.query(`
      create table tunnel_groups (
        ${entity},
        labels jsonb not null,
        constraint tunnel_groups_pk primary key (account_id, id)
      ) with (fillfactor = 80)`);
    await this.indexNames(runner);
    await this.guardRules(runner);
    await this.guardNames(runner);
  }

  /** What an edge names, each with the account: an id may stand in edges of several accounts. */
  private async indexNames(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create function tcp_edge_names(account_id text, backend jsonb, ip_restriction jsonb) returns text[]
      language plpgsql immutable parallel safe as $$
      begin
        return array(
          select account_id || ' ' || named.id from (
            select backend ->> 'backend_id' as id
            union select jsonb_array_elements_text(ip_restriction -> 'ip_policy_ids')
          ) named where named.id is not null);
      end $$`);
    await runner.query(`
      create index tcp_edges_names on tcp_edges using gin (tcp_edge_names(account_id, backend, ip_restriction))
      where backend is not null or ip_restriction is not null`);
  }

  /**
   * A rule belongs to a live policy. Both triggers check within the append, and appends of an account run one after
   * another, so a create and a deletion that decide at the same time cannot both succeed.
   */
  private async guardRules(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create function refuse_rules_without_policy() returns trigger language plpgsql as $$
      begin
        if exists (
          select from added a where not exists (
            select from ip_policies p where p.account_id = a.account_id and p.id = a.ip_policy_id and by_index(p.id))
        ) then
          raise exception 'the IP policy is deleted'
            using errcode = 'foreign_key_violation', constraint = 'ip_policy_deleted', table = tg_table_name;
        end if;
        return null;
      end $$`);
    await runner.query(`
      create trigger ip_policy_rules_policy after insert on ip_policy_rules referencing new table as added
      for each statement execute function refuse_rules_without_policy()`);
    await runner.query(`
      create function refuse_policies_with_rules() returns trigger language plpgsql as $$
      begin
        if exists (
          select from removed p join ip_policy_rules r on r.account_id = p.account_id and r.ip_policy_id = p.id and by_index(r.id)
        ) then
          raise exception 'the IP policy has rules'
            using errcode = 'foreign_key_violation', constraint = 'ip_policy_rules_left', table = tg_table_name;
        end if;
        return null;
      end $$`);
    await runner.query(`
      create trigger ip_policies_rules after delete on ip_policies referencing old table as removed
      for each statement execute function refuse_policies_with_rules()`);
  }

  /** The event of a deletion says whether it is for what no edge names only. Other deletions come from lenient mode. */
  private async guardNames(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create function refuse_named() returns trigger language plpgsql as $$
      begin
        if exists (
          select from removed n join events e on e.account_id = n.account_id and e.stream_id = n.id
            and e.stream_version = n.version + 1 and by_index(e.stream_id)
          join tcp_edges t on tcp_edge_names(t.account_id, t.backend, t.ip_restriction) @> array[n.account_id || ' ' || n.id]
            and (t.backend is not null or t.ip_restriction is not null) and by_index(t.id)
          where e.data::jsonb ? 'unless_named'
        ) then
          raise exception 'an edge names it'
            using errcode = 'foreign_key_violation', constraint = 'named_by_edge', table = tg_table_name;
        end if;
        return null;
      end $$`);
    for (const table of ['ip_policies', 'tunnel_groups']) {
      await runner.query(`
        create trigger ${table}_named after delete on ${table} referencing old table as removed
        for each statement execute function refuse_named()`);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table ip_policy_rules, ip_policies, tunnel_groups');
    await runner.query('drop function refuse_rules_without_policy(), refuse_policies_with_rules(), refuse_named()');
    await runner.query('drop index tcp_edges_names');
    await runner.query('drop function tcp_edge_names(text, jsonb, jsonb)');
  }
}
