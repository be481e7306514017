import { Topic } from './topic.js';

/** Read model of SSH credentials. The columns after owner_id are for gateways, but for the last two. */
export class SshCredentials1796428800003 extends Topic {
  protected readonly schema = `
    -- The SHA-256 of an ACL, by which instances keep its compiled form. PostgreSQL computes it, so it is right whoever edits the
    -- row. PostgreSQL declares the cast of text[] to text stable, for the sake of other types: of texts it is immutable.
    create function acl_digest(acl text[]) returns bytea language plpgsql immutable parallel safe as $$
    begin
      return sha256(convert_to(acl::text, 'UTF8'));
    end $$;

    -- expires_at: null means never. source_cidrs: null means from anywhere. device_name: null means no device enrolled. No
    -- constraint holds them to a form: the rows are what the log makes them.
    create table ssh_credentials (
      account_id text collate "C" not null,
      id text collate "C" not null,
      version int not null,
      created_at timestamptz not null,
      description text not null,
      metadata text not null,
      public_key text not null,
      acl text[] not null,
      owner_id text collate "C" not null,
      key_type text not null,
      key_bits int not null,
      key_blob text not null,
      fingerprint text collate "C" not null,
      exclusive boolean not null,
      acl_digest bytea generated always as (acl_digest(acl)) stored,
      expires_at timestamptz,
      source_cidrs text[],
      device_name text collate "C",
      device_addr text,
      constraint ssh_credentials_pk primary key (account_id, id)
    ) with (fillfactor = 80);

    -- A key belongs to the account of its oldest credential.
    create index ssh_credentials_fingerprint on ssh_credentials (fingerprint, id);
    create index ssh_credentials_owner on ssh_credentials (account_id, owner_id, id);
    -- Gateways know credentials by their ids alone. This operator class finds equal ids and has no order, so no plan takes the
    -- index for a page of an account.
    create index ssh_credentials_by_id on ssh_credentials (id text_pattern_ops);
    -- Strict mode only: otherwise an account may grant a key several times.
    create unique index ssh_credentials_exclusive_key on ssh_credentials (account_id, fingerprint) where exclusive;
    create unique index ssh_credentials_device_name on ssh_credentials (account_id, device_name) where device_name is not null;
    -- By the name that it has below TUNNEL_DOMAIN (src/rules/tunnel-domain.ts).
    create index ssh_credentials_given_name on ssh_credentials (left(encode(sha256(id::bytea), 'hex'), 15));
    -- What expires between two times, in all accounts and in one.
    create index ssh_credentials_expiry on ssh_credentials (expires_at, id) where expires_at is not null;
    create index ssh_credentials_account_expiry on ssh_credentials (account_id, expires_at)
    where expires_at is not null;

    create trigger ssh_credentials_owner after insert on ssh_credentials referencing new table as added
    for each statement when (current_setting('tunnel_access.repair', true) is distinct from 'on')
    execute function refuse_deleted_owners()`;
}
