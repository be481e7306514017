import type { ClientBase } from 'pg';

export interface GuardFault {
  readonly what: string;
  /** What the owner of the tables must do. */
  readonly wayOut: string;
}

/**
 * Checks that PostgreSQL still protects the log. The triggers of each table must refuse changes, nothing else may act
 * on the table, and no role but the owner may have more rights than the service needs. The owner and a superuser can
 * undo all this.
 */
export async function guardFaults(client: ClientBase): Promise<GuardFault[]> {
  const { rows: triggers } = await client.query<Trigger>(TRIGGERS, [TABLES]);
  const { rows: others } = await client.query<{ kind: string; name: string; on: string }>(OTHERS, [TABLES]);
  const { rows: grants } = await client.query<{ on: string; grantee: string; rights: string }>(GRANTS, [
    JSON.stringify(REFUSED_RIGHTS),
  ]);
  const missing = GUARDS.filter((guard) => !triggers.some((trigger) => isInForce(guard, trigger)));
  const further = triggers.filter(({ name, on }) => !GUARDS.some((guard) => guard.name === name && guard.on === on));
  return [
    ...missing.map(missingGuard),
    ...further.map(({ name, on }) => furtherOne({ kind: 'trigger', name, on })),
    ...others.map(furtherOne),
    ...grants.map(({ on, grantee, rights }) => ({
      what: `the role ${grantee} has the right to change ${on}: ${rights}`,
      wayOut: `revoke ${rights} on ${on} from ${grantee}`,
    })),
  ];
}

interface Trigger {
  readonly name: string;
  readonly on: string;
  readonly type: number;
  readonly body: string;
  /** The trigger fires for each column and each row, in each session that does not switch triggers off. */
  readonly always: boolean;
}

interface Guard extends Pick<Trigger, 'name' | 'on' | 'type' | 'body'> {
  readonly keeps: string;
}

const REFUSAL = `begin
  raise exception 'events are append-only: % refused', tg_op using errcode = 'restrict_violation';
end`;
const TILE_REFUSAL = `begin
  if tg_op = 'UPDATE' then
    if (new.account_id, new.level, new.index) = (old.account_id, old.level, old.index)
      and substr(new.hashes, 1, length(old.hashes)) = old.hashes then
      return new;
    end if;
  end if;
  raise exception 'log_tiles only grows: % refused', tg_op using errcode = 'restrict_violation';
end`;
const ALARM_REFUSAL = `begin
  if tg_op = 'UPDATE' then
    if old.ended_at is null and new.ended_at is not null
      and (new.account_id, new.loss, new.signed, new.mark, new.what, new.raised_at)
        = (old.account_id, old.loss, old.signed, old.mark, old.what, old.raised_at) then
      return new;
    end if;
  end if;
  raise exception 'an alarm can only be ended: % refused', tg_op using errcode = 'restrict_violation';
end`;

/** Bits of a trigger's type: for each row (1), before (2), on delete (8), update (16), truncate (32). */
const GUARDS: readonly Guard[] = [
  { name: 'events_guard', on: 'events', type: 58, body: REFUSAL, keeps: 'events' },
  { name: 'log_checkpoints_guard', on: 'log_checkpoints', type: 58, body: REFUSAL, keeps: 'checkpoints' },
  { name: 'log_tiles_guard', on: 'log_tiles', type: 27, body: TILE_REFUSAL, keeps: 'tiles' },
  { name: 'log_tiles_truncate_guard', on: 'log_tiles', type: 34, body: TILE_REFUSAL, keeps: 'tiles' },
  { name: 'log_alarms_guard', on: 'log_alarms', type: 27, body: ALARM_REFUSAL, keeps: 'alarms' },
  { name: 'log_alarms_truncate_guard', on: 'log_alarms', type: 34, body: ALARM_REFUSAL, keeps: 'alarms' },
];
const TABLES = ['events', 'log_heads', 'log_checkpoints', 'log_tiles', 'log_alarms'];

const isInForce = (guard: Guard, { name, on, type, body, always }: Trigger): boolean =>
  always && guard.name === name && guard.on === on && guard.type === type && inOneLine(guard.body) === inOneLine(body);

const inOneLine = (body: string): string => body.replace(/\s+/g, ' ').trim();

const missingGuard = ({ name, on, keeps }: Guard): GuardFault => ({
  what: `the trigger ${name}, which keeps ${keeps} from being changed, is missing or switched off`,
  wayOut: `alter table ${on} enable trigger ${name}, or create it and its function as the migrations do`,
});

const furtherOne = ({ kind, name, on }: { kind: string; name: string; on: string }): GuardFault => ({
  what: `the ${kind} ${name} on ${on} is not one of the service: it can change what is written or read there`,
  wayOut: `drop ${kind} ${name} on ${on}`,
});

/** A trigger in state R or D does not fire. */
const TRIGGERS = `select t.tgname as name, c.relname as on, t.tgtype as type, f.prosrc as body,
    t.tgenabled in ('O', 'A') and t.tgqual is null and t.tgattr::text = '' as always
  from unnest($1::text[]) as known join pg_class c on c.oid = to_regclass(known)
    join pg_trigger t on t.tgrelid = c.oid join pg_proc f on f.oid = t.tgfoid order by c.relname, t.tgname`;

/** A policy hides rows from roles that do not own the table. */
const OTHERS = `with tables as (select c.oid, c.relname from unnest($1::text[]) as known join pg_class c on c.oid = to_regclass(known))
  select 'rule' as kind, r.rulename as name, c.relname as on from tables c join pg_rewrite r on r.ev_class = c.oid
  union all select 'policy', p.polname, c.relname from tables c join pg_policy p on p.polrelid = c.oid order by 3, 1, 2`;

/** The rights that no role needs, not even the service's. A right may cover a column only. */
const REFUSED_RIGHTS = {
  events: ['UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER'],
  log_heads: ['DELETE', 'TRUNCATE', 'TRIGGER'],
  log_checkpoints: ['UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER'],
  log_tiles: ['DELETE', 'TRUNCATE', 'TRIGGER'],
  log_alarms: ['UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER'],
};

const GRANTS = `select c.relname as on, case when g.grantee = 0 then 'PUBLIC' else g.grantee::regrole::text end as grantee,
    string_agg(distinct g.privilege_type, ', ' order by g.privilege_type) as rights
  from json_each($1::json) as refused join pg_class c on c.oid = to_regclass(refused.key)
    cross join lateral (
      select * from aclexplode(c.relacl) union all
      select e.* from pg_attribute a cross join lateral aclexplode(a.attacl) e where a.attrelid = c.oid) g
  where g.grantee <> c.relowner and g.privilege_type in (select json_array_elements_text(refused.value))
  group by c.relname, g.grantee order by 1, 2`;
