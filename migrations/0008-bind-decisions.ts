import { Topic } from './topic.js';

/** Bind decisions sent to gateways, and the last use of each credential. Not read models: no event makes these rows. */
export class BindDecisions1796342400008 extends Topic {
  protected readonly schema = `
    -- account_id, credential_id and owner_id are empty if the key is unknown, and gateway_name is null of a token without a name.
    -- The columns from log_position on are what a decision needs to be made again from the log: the position of the account's
    -- log, the rule, the database's time by which credentials had expired, the circumstances that are settings, and how many
    -- rules of a key counted. settled_at is when the row was written: from then on it does not change. See 0011.
    create table bind_decisions (
      account_id text collate "C" not null,
      id text collate "C" not null,
      decided_at timestamptz not null,
      credential_id text collate "C" not null,
      credential_version int,
      owner_id text collate "C" not null,
      fingerprint text collate "C" not null,
      target jsonb not null,
      allowed boolean not null,
      reason text not null,
      rule text,
      gateway text not null,
      source text,
      gateway_name text collate "C",
      log_position bigint,
      rule_index int,
      read_at timestamptz,
      key_denied boolean,
      gateway_account text collate "C",
      max_rules int,
      settled_at timestamptz not null default clock_timestamp(),
      constraint bind_decisions_pk primary key (account_id, id)
    ) partition by range (id);
    create table bind_decisions_default partition of bind_decisions default;
    -- An operator knows a decision by its id alone. This operator class finds equal ids and has no order, so no plan takes the
    -- index for a page of an account.
    create index bind_decisions_by_id on bind_decisions (id text_pattern_ops);
    create index bind_decisions_credential on bind_decisions (account_id, credential_id, id) where account_id <> '';
    create index bind_decisions_gateway on bind_decisions (account_id, gateway_name, id)
    where account_id <> '' and gateway_name is not null;
    create index bind_decisions_settled on bind_decisions (account_id, settled_at) where account_id <> '';

    create function refuse_change_of_decisions() returns trigger language plpgsql as $$
    begin
      raise exception 'bind_decisions are append-only: % refused', tg_op using errcode = 'restrict_violation';
    end $$;
    -- DELETE is allowed: keep_partitions removes decisions older than DECISIONS_RETENTION_DAYS.
    create trigger bind_decisions_guard before update or truncate on bind_decisions
    for each statement execute function refuse_change_of_decisions();

    create table credential_usage (
      account_id text collate "C" not null,
      credential_id text collate "C" not null,
      last_used_at timestamptz not null,
      constraint credential_usage_pk primary key (account_id, credential_id)
    ) with (fillfactor = 50)`;
}
