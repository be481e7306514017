import { ENTITY_COLUMNS, type ReadModel, type Table } from '../../log/read-model.js';
import { type Account, type AccountEvent, evolve } from './account.js';

const TABLE: Table<Account> = {
  name: 'accounts',
  columns: [...ENTITY_COLUMNS, 'name', 'admins'],
  primaryKey: ['account_id', 'id'],
  rowsOf: (entity) => [entity],
  exclusiveValuesOf: () => [],
};

export const accountsReadModel: ReadModel<Account, AccountEvent> = {
  streamPrefixes: ['ac'],
  events: { 'account_created.v1': { isStart: true }, 'account_admins_changed.v1': {} },
  evolve,
  tables: [TABLE],
};
