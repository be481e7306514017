import { Topic } from './topic.js';

/** Accounts, their principals (users and bots) and the API keys of these. */
export class Accounts1796342400002 extends Topic {
  protected readonly schema = `
    create table accounts (
      account_id text collate "C" not null,
      id text collate "C" not null,
      version int not null,
      created_at timestamptz not null,
      name text not null,
      admins text[] not null,
      constraint accounts_pk primary key (account_id, id)
    );
    -- A login without OIDC_ACCOUNT is for the oldest account.
    create index accounts_age on accounts (created_at, account_id);

    create table principals (
      account_id text collate "C" not null,
      id text collate "C" not null,
      version int not null,
      created_at timestamptz not null,
      kind text not null,
      name text not null,
      -- In a Turkish collation lower('INFO') is not 'info'.
      email text collate "C" not null,
      role text not null,
      active boolean not null,
      deleted boolean not null,
      constraint principals_pk primary key (account_id, id)
    );
    -- A deleted principal keeps its row, without name and email, so that no resource can name it as its owner again.
    create unique index principals_user_email on principals (account_id, lower(email)) where kind = 'user' and not deleted;
    create unique index principals_bot_name on principals (account_id, name) where kind = 'bot' and not deleted;

    -- expires_at: null means never.
    create table api_keys (
      account_id text collate "C" not null,
      id text collate "C" not null,
      version int not null,
      created_at timestamptz not null,
      owner_id text collate "C" not null,
      description text not null,
      metadata text not null,
      token_hash text collate "C" not null,
      expires_at timestamptz,
      constraint api_keys_pk primary key (account_id, id),
      constraint api_keys_token_hash unique (token_hash)
    );
    create index api_keys_owner on api_keys (account_id, owner_id, id);

    -- A create checks its owner before it is queued, and the owner may be deleted before its append runs. Appends of one account
    -- run one after another, and this trigger checks within the append.
    create function refuse_deleted_owners() returns trigger language plpgsql as $$
    begin
      if exists (
        select from added a
        where (select p.deleted from principals p where p.account_id = a.account_id and p.id = a.owner_id)
      ) then
        raise exception 'the owner is deleted'
          using errcode = 'foreign_key_violation', constraint = 'owner_deleted', table = tg_table_name;
      end if;
      return null;
    end $$;
    create trigger api_keys_owner after insert on api_keys referencing new table as added
    for each statement when (current_setting('tunnel_access.repair', true) is distinct from 'on')
    execute function refuse_deleted_owners();

    -- Deleted users and bots whose API keys and SSH credentials may remain. Not a read model: a row goes when its work is done,
    -- which no event records. The request that deletes an owner also removes what it owns; others take over when the row is due.
    create table pending_removals (
      account_id text collate "C" not null,
      owner_id text collate "C" not null,
      due_at timestamptz not null default clock_timestamp() + interval '5 seconds',
      constraint pending_removals_pk primary key (account_id, owner_id)
    );
    create index pending_removals_due on pending_removals (due_at);
    -- A deletion and its row share a transaction on every path to the table, an import of a log included.
    create function add_pending_removal() returns trigger language plpgsql as $$
    begin
      insert into pending_removals (account_id, owner_id) values (new.account_id, new.id) on conflict do nothing;
      return null;
    end $$;
    create trigger principals_deleted after insert or update on principals
    for each row when (new.deleted and current_setting('tunnel_access.repair', true) is distinct from 'on')
    execute function add_pending_removal()`;
}
