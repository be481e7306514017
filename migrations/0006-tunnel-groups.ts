import { Topic } from './topic.js';

/** Read model of tunnel groups. */
export class TunnelGroups1796342400006 extends Topic {
  protected readonly schema = `
    create table tunnel_groups (
      account_id text collate "C" not null,
      id text collate "C" not null,
      version int not null,
      created_at timestamptz not null,
      description text not null,
      metadata text not null,
      labels jsonb not null,
      constraint tunnel_groups_pk primary key (account_id, id)
    ) with (fillfactor = 80);

    create trigger tunnel_groups_named after delete on tunnel_groups referencing old table as removed
    for each statement when (current_setting('tunnel_access.repair', true) is distinct from 'on')
    execute function refuse_named()`;
}
