import { Topic } from './topic.js';

/** Read model of the keys by which devices make their own credentials. */
export class EnrollmentKeys1796428800013 extends Topic {
  protected readonly schema = `
    -- name: null means any device. expires_at: null means never.
    create table enrollment_keys (
      account_id text collate "C" not null,
      id text collate "C" not null,
      version int not null,
      created_at timestamptz not null,
      description text not null,
      metadata text not null,
      owner_id text collate "C" not null,
      token_hash text collate "C" not null,
      acl text[] not null,
      reserve_addr boolean not null,
      name text collate "C",
      max_uses int not null,
      uses int not null,
      expires_at timestamptz,
      constraint enrollment_keys_pk primary key (account_id, id),
      constraint enrollment_keys_token_hash unique (token_hash)
    ) with (fillfactor = 80);
    create index enrollment_keys_owner on enrollment_keys (account_id, owner_id, id);

    create trigger enrollment_keys_owner after insert on enrollment_keys referencing new table as added
    for each statement when (current_setting('tunnel_access.repair', true) is distinct from 'on')
    execute function refuse_deleted_owners()`;
}
