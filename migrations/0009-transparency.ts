import { Topic } from './topic.js';

/** The Merkle tree of each log, as tiles, its signed checkpoints, and the alarms that it is not what was signed. */
export class Transparency1796342400009 extends Topic {
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
    for each statement execute function refuse_change_of_tile();

    -- An alarm is open until the owner of the tables ends it. Of two instances that find the same, one raises it.
    create table log_alarms (
      account_id text collate "C" not null,
      loss text not null,
      signed bigint not null,
      mark text not null,
      what text not null,
      raised_at timestamptz not null default clock_timestamp(),
      ended_at timestamptz,
      reason text,
      constraint log_alarms_pk primary key (account_id, loss, signed, mark, raised_at),
      constraint log_alarms_loss check (loss in ('tail', 'checkpoints', 'events', 'tiles')),
      constraint log_alarms_end check ((ended_at is null) = (reason is null))
    );
    create unique index log_alarms_open on log_alarms (account_id, loss, signed, mark) where ended_at is null;

    create function refuse_change_of_alarm() returns trigger language plpgsql as $$
    begin
      if tg_op = 'UPDATE' then
        if old.ended_at is null and new.ended_at is not null
          and (new.account_id, new.loss, new.signed, new.mark, new.what, new.raised_at)
            = (old.account_id, old.loss, old.signed, old.mark, old.what, old.raised_at) then
          return new;
        end if;
      end if;
      raise exception 'an alarm can only be ended: % refused', tg_op using errcode = 'restrict_violation';
    end $$;
    create trigger log_alarms_guard before update or delete on log_alarms
    for each row execute function refuse_change_of_alarm();
    create trigger log_alarms_truncate_guard before truncate on log_alarms
    for each statement execute function refuse_change_of_alarm()`;
}
