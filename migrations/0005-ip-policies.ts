import { Topic } from './topic.js';

/**
 * Read models of IP policies and their rules. A rule belongs to a live policy. Both guards check within the append, and
 * appends of an account run one after another, so a create and a deletion that decide at the same time cannot both succeed.
 */
export class IpPolicies1796342400005 extends Topic {
  protected readonly schema = `
    create table ip_policies (
      account_id text collate "C" not null,
      id text collate "C" not null,
      version int not null,
      created_at timestamptz not null,
      description text not null,
      metadata text not null,
      constraint ip_policies_pk primary key (account_id, id)
    ) with (fillfactor = 80);

    create table ip_policy_rules (
      account_id text collate "C" not null,
      id text collate "C" not null,
      version int not null,
      created_at timestamptz not null,
      description text not null,
      metadata text not null,
      ip_policy_id text collate "C" not null,
      cidr text collate "C" not null,
      action text not null,
      constraint ip_policy_rules_pk primary key (account_id, id)
    ) with (fillfactor = 80);
    -- It also finds the rules of a policy. The account comes last, so that a look-up by account and id has one index to take.
    create unique index ip_policy_rules_cidr on ip_policy_rules (ip_policy_id, cidr, account_id);

    create function refuse_rules_without_policy() returns trigger language plpgsql as $$
    begin
      if exists (
        select from added a
        where (select p.id from ip_policies p where p.account_id = a.account_id and p.id = a.ip_policy_id) is null
      ) then
        raise exception 'the IP policy is deleted'
          using errcode = 'foreign_key_violation', constraint = 'ip_policy_deleted', table = tg_table_name;
      end if;
      return null;
    end $$;
    create trigger ip_policy_rules_policy after insert on ip_policy_rules referencing new table as added
    for each statement when (current_setting('tunnel_access.repair', true) is distinct from 'on')
    execute function refuse_rules_without_policy();

    -- Counts again, after the create was decided. A repair and an import set no maximum.
    create function refuse_too_many_rules() returns trigger language plpgsql as $$
    declare
      maximum int := current_setting('tunnel_access.max_ip_policy_rules');
    begin
      if exists (
        select from (select distinct account_id, ip_policy_id from added) a where maximum < (
          select count(*) from (select from ip_policy_rules r
            where r.account_id = a.account_id and r.ip_policy_id = a.ip_policy_id limit maximum + 1) counted)
      ) then
        raise exception 'the IP policy has more than % rules', maximum
          using errcode = 'check_violation', constraint = 'too_many_rules', table = tg_table_name;
      end if;
      return null;
    end $$;
    create trigger ip_policy_rules_maximum after insert on ip_policy_rules referencing new table as added
    for each statement when (current_setting('tunnel_access.max_ip_policy_rules', true) <> '')
    execute function refuse_too_many_rules();

    create function refuse_policies_with_rules() returns trigger language plpgsql as $$
    begin
      if exists (
        select from removed p join ip_policy_rules r on r.account_id = p.account_id and r.ip_policy_id = p.id
      ) then
        raise exception 'the IP policy has rules'
          using errcode = 'foreign_key_violation', constraint = 'ip_policy_rules_left', table = tg_table_name;
      end if;
      return null;
    end $$;
    create trigger ip_policies_rules after delete on ip_policies referencing old table as removed
    for each statement when (current_setting('tunnel_access.repair', true) is distinct from 'on')
    execute function refuse_policies_with_rules();

    create trigger ip_policies_named after delete on ip_policies referencing old table as removed
    for each statement when (current_setting('tunnel_access.repair', true) is distinct from 'on')
    execute function refuse_named()`;
}
