import { Topic } from './topic.js';

/** The Merkle tree of each log, as tiles, and its signed checkpoints. */
export class Transparency1795651200009 extends Topic {
  protected readonly schema = `
    -- A checkpoint is written once; each but the first follows another. Of two instances that seal at the same time the key on
    -- follows lets one through.
    create table log_checkpoints (
      account_id text collate "C" not null,
      size bigint not null,
      follows bigint not null,
      note text not null,
      sealed_at timestamptz not null default clock_timestamp(),
      constraint log_checkpoints_pk primary key (account_id, size),
      constraint log_checkpoints_follows unique (account_id, follows),
      constraint log_checkpoints_grow check (size > follows)
    );
    create trigger log_checkpoints_guard before update or delete or truncate on log_checkpoints
    for each statement execute function refuse_change_of_history();

    create table log_tiles (
      account_id text collate "C" not null,
      level int not null,
      index bigint not null,
      hashes bytea not null,
      constraint log_tiles_pk primary key (account_id, level, index)
    );

    -- A tile grows at its end: what was signed of it stays as it is. In a statement that truncates there is no row.
    create function refuse_change_of_tile() returns trigger language plpgsql as $$
    begin
      if tg_op = 'UPDATE' then
        if (new.account_id, new.level, new.index) = (old.account_id, old.level, old.index)
          and substr(new.hashes, 1, length(old.hashes)) = old.hashes then
          return new;
        end if;
      end if;
      raise exception 'log_tiles only grows: % refused', tg_op using errcode = 'restrict_violation';
    end $$;
    create trigger log_tiles_guard before update or delete on log_tiles
    for each row execute function refuse_change_of_tile();
    create trigger log_tiles_truncate_guard before truncate on log_tiles
    for each statement execute function refuse_change_of_tile()`;
}
