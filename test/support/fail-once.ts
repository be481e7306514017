/** SQL for a superuser: the next `CREATE` of this kind fails with this error, and later ones succeed. */
export const failOnce = (sqlState: string, what: 'TABLE' | 'INDEX'): string => `create sequence attempts;
  create function fail_once() returns event_trigger language plpgsql as $$ begin
    if nextval('attempts') = 1 then raise exception 'the first attempt' using errcode = '${sqlState}'; end if; end $$;
  create event trigger fail_once on ddl_command_start when tag in ('CREATE ${what}') execute function fail_once()`;
