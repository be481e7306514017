import { Topic } from './topic.js';

/**
 * Values that belong to one account of the deployment: keys and hostports. A claim counts the rows of its account that have
 * the value. Of two accounts that claim a free value at once, the unique index decides which one gets it.
 */
export class Claims1795996800007 extends Topic {
  protected readonly schema = `
    -- exclusive is false for the claims of accounts that shared a value when there were no claims, and for the claim of an account
    -- that has reserved a hostport of another one.
    create table claims (
      value text collate "C" not null,
      account_id text collate "C" not null,
      holders int not null,
      exclusive boolean not null,
      constraint claims_pk primary key (value, account_id)
    ) with (fillfactor = 80);
    create unique index claims_exclusive on claims (value) where exclusive;

    -- A statement cannot delete a row that it has updated.
    create function free_claim() returns trigger language plpgsql as $$
    begin
      delete from claims c where c.value = new.value and c.account_id = new.account_id;
      return null;
    end $$;
    create trigger claims_free after insert or update on claims for each row when (new.holders <= 0)
    execute function free_claim()`;
}
