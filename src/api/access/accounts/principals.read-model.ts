import { entityTable, type ReadModel } from '../../../event-log/index.js';
import { evolve, type Principal, type PrincipalEvent } from './principal.js';

const TABLE = entityTable<Principal>('principals', ['kind', 'name', 'email', 'role', 'active', 'deleted'], (row) =>
  row.deleted === true ? [] : [row.kind === 'user' ? `email:${String(row.email).toLowerCase()}` : `bot:${row.name}`],
);

/** The unique indexes over the emails of users and the names of bots; violated if two creates race. */
export const USER_EMAIL_CONSTRAINT = 'principals_user_email';
export const BOT_NAME_CONSTRAINT = 'principals_bot_name';

/** Users and bots share a table, so that one look-up finds any owner. */
export const principalsReadModel: ReadModel<Principal, PrincipalEvent> = {
  streamPrefixes: ['usr', 'bot'],
  events: {
    'user_created.v1': { isStart: true },
    'user_updated.v1': { takesRights: true },
    'user_deleted.v1': { isEnd: true, takesRights: true },
    'bot_user_created.v1': { isStart: true },
    'bot_user_updated.v1': { takesRights: true },
    'bot_user_role_changed.v1': { takesRights: true },
    'bot_user_deleted.v1': { isEnd: true, takesRights: true },
  },
  evolve,
  tables: [TABLE],
};
