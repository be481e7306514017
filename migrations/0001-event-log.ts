import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The log: one gapless sequence of events for each account, its head, and the guard that keeps history unchanged. */
export class EventLog1763683200001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table log_heads (
        account_id text collate "C" primary key,
        size bigint not null,
        recorded_at timestamptz not null
      ) with (fillfactor = 10)`);

    // events_event_id precedes events_stream_version, so that PostgreSQL reports a repeated command before a conflict.
    await runner.query(`
      create table events (
        account_id text collate "C" not null,
        position bigint not null,
        stream_id text collate "C" not null,
        stream_version int not null,
        event_id uuid not null,
        type text not null,
        data text not null,
        metadata text not null,
        occurred_at timestamptz not null,
        recorded_at timestamptz not null,
        leaf_hash bytea not null,
        constraint events_pk primary key (account_id, position),
        constraint events_event_id unique (account_id, event_id),
        constraint events_stream_version unique (account_id, stream_id, stream_version)
      )`);

    await runner.query(`
      create function refuse_change_of_history() returns trigger language plpgsql as $$
      begin
        raise exception 'events are append-only: % refused', tg_op using errcode = 'restrict_violation';
      end $$`);
    await runner.query(`
      create trigger events_guard before update or delete or truncate on events
      for each statement execute function refuse_change_of_history()`);

    // Texts are netstrings (length in bytes, colon, text, comma), and a comma ends numbers and the uuid, so two
    // different events never share an encoding. The leading zero byte is RFC 6962's mark of a leaf; times are
    // microseconds since 1970. A single expression without a FROM lets PostgreSQL inline it.
    await runner.query(`
      create function event_leaf_hash(
        account_id text, event_position bigint, stream_id text, stream_version int, event_id uuid, type text,
        data text, metadata text, occurred_at timestamptz, recorded_at timestamptz
      ) returns bytea language sql stable parallel safe as $$
        select sha256('\\x00'::bytea || convert_to(concat(
          octet_length(account_id), ':', account_id, ',',
          event_position, ',',
          octet_length(stream_id), ':', stream_id, ',',
          stream_version, ',',
          event_id, ',',
          octet_length(type), ':', type, ',',
          octet_length(data), ':', data, ',',
          octet_length(metadata), ':', metadata, ',',
          (extract(epoch from occurred_at) * 1000000)::bigint, ',',
          (extract(epoch from recorded_at) * 1000000)::bigint, ','), 'UTF8'))
      $$`);
  }

  async down(): Promise<void> {
    throw new Error('the event log is never dropped by a migration; restore a backup instead');
  }
}
