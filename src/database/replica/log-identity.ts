/**
 * SQL of what tells the copies of one log from all other databases: the cluster's identifier, which initdb makes and every
 * physical copy keeps, the database in it, and the timeline. Every promotion begins a timeline, so a standby that follows a
 * primary of the past has another one. A standby learns its timeline from its WAL receiver, if the role may see it
 * (pg_read_all_stats), else at its next restartpoint.
 */
const LOG_IDENTITY = `concat_ws('/', (pg_control_system()).system_identifier,
    (select oid from pg_database where datname = current_database()),
    case when pg_is_in_recovery() then greatest((pg_control_checkpoint()).timeline_id,
        (pg_control_recovery()).min_recovery_end_timeline, (pg_stat_get_wal_receiver()).received_tli)
      else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end)`;

/** SQL of the columns of ServerAnswer but for the head. */
export const OF_SERVER = `${LOG_IDENTITY} as log_identity, pg_is_in_recovery() as is_standby`;

/** What each answer of a replica says of its server, in the snapshot of the answer itself. */
export interface ServerAnswer {
  readonly log_identity: string;
  readonly is_standby: boolean;
}

const DIFFERENCES = ['cluster', 'database', 'timeline'];

/** In what two logs differ; undefined: they are copies of one log. */
export function differenceOf(one: string, other: string): string | undefined {
  const parts = other.split('/');
  const n = one.split('/').findIndex((part, n) => part !== parts[n]);
  return DIFFERENCES[n];
}
