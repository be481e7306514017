import { entityTable, type ReadModel } from '../../../event-log/index.js';
import { type Account, type AccountEvent, evolve } from './account.js';

export const accountsReadModel: ReadModel<Account, AccountEvent> = {
  streamPrefixes: ['ac'],
  events: { 'account_created.v1': { isStart: true }, 'account_admins_changed.v1': {} },
  evolve,
  tables: [entityTable<Account>('accounts', ['name', 'admins'])],
};
