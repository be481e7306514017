import { Topic } from './topic.js';

/**
 * Values that belong to one account of the deployment: keys and hostports. A claim counts the rows of its account that have
 * the value. Of two accounts that claim a free value at once, the unique index decides which one gets it.
 */
export class Claims1796342400007 extends Topic {
  protected readonly schema = `
    -- Of the claims of a value exactly one is exclusive. The others are those of accounts that shared the value when there were no
    -- claims, and that of an account that has reserved a hostport of another one.
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
    execute function free_claim();

    -- When the exclusive claim goes, another claim of its value takes its place. The lock waits for a removal that is not committed.
    create function keep_a_claim_exclusive() returns trigger language plpgsql as $$
    begin
      if tg_op = 'INSERT' then
        perform from claims c where c.value = new.value and c.exclusive for share;
        if found then
          return null;
        end if;
      end if;
      update claims set exclusive = true where (value, account_id) = (
        select c.value, c.account_id from claims c where c.value = case tg_op when 'INSERT' then new.value else old.value end
        order by c.account_id limit 1 for update);
      return null;
    end $$;
    create trigger claims_shared after insert on claims for each row when (not new.exclusive)
    execute function keep_a_claim_exclusive();
    create trigger claims_left after delete on claims for each row when (old.exclusive)
    execute function keep_a_claim_exclusive()`;
}
