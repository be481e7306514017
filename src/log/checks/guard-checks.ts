import type { ClientBase } from 'pg';

/**
 * Whether PostgreSQL still keeps events and checkpoints as they are: a trigger of each table refuses changes, and no role
 * but the owner has the right to change events. A superuser and the owner can take back both.
 */
export async function guardFaults(client: ClientBase): Promise<string[]> {
  const { rows: guards } = await client.query<{ guard: string; body: string }>(GUARDS);
  const { rows: grants } = await client.query<{ grantee: string; rights: string }>(GRANTS);
  const inForce = new Set(
    guards.filter(({ body }) => body.replace(/\s+/g, ' ').trim() === REFUSAL).map(({ guard }) => guard),
  );
  const missing = Object.entries(GUARDED).filter(([guard]) => !inForce.has(guard));
  return [
    ...missing.map(
      ([guard, what]) => `the trigger ${guard}, which keeps ${what} from being changed, is missing or switched off`,
    ),
    ...grants.map(({ grantee, rights }) => `the role ${grantee} has the right to change events: ${rights}`),
  ];
}

/** The triggers, each on the table of its name. */
const GUARDED = { events_guard: 'events', log_checkpoints_guard: 'checkpoints' };
const REFUSAL = `begin raise exception 'events are append-only: % refused', tg_op using errcode = 'restrict_violation'; end`;

/** 58: before each statement that updates (16), deletes (8) or truncates (32). A trigger in state R or D does not fire. */
const GUARDS = `select t.tgname as guard, f.prosrc as body from pg_trigger t join pg_proc f on f.oid = t.tgfoid
  where t.tgrelid in ('events'::regclass, 'log_checkpoints'::regclass) and t.tgname = t.tgrelid::regclass::text || '_guard'
    and t.tgtype = 58 and t.tgenabled in ('O', 'A') and t.tgqual is null`;

const GRANTS = `select case when g.grantee = 0 then 'PUBLIC' else g.grantee::regrole::text end as grantee,
    string_agg(g.privilege_type, ', ' order by g.privilege_type) as rights
  from pg_class c cross join lateral aclexplode(c.relacl) g
  where c.oid = 'events'::regclass and g.grantee <> c.relowner and g.privilege_type in ('UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER')
  group by g.grantee order by 1`;
