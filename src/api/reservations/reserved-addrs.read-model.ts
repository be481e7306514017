import { entityTable, type ReadModel } from '../../event-log/index.js';
import { type ReservedAddr, type ReservedAddrEvent, reservedAddr } from './reserved-addr.js';

export const reservedAddrsReadModel: ReadModel<ReservedAddr, ReservedAddrEvent> = {
  streamPrefixes: ['ra'],
  events: {
    'reserved_addr_created.v1': { isStart: true },
    'reserved_addr_updated.v1': {},
    'reserved_addr_deleted.v1': { isEnd: true },
  },
  evolve: reservedAddr.evolve,
  tables: [
    entityTable<ReservedAddr>('reserved_addrs', ['description', 'metadata', 'addr', 'region'], (row) => [
      `reserved:${row.addr}`,
    ]),
  ],
};

/** The unique index over all accounts; violated if two creates race for one addr. */
export const ADDR_CONSTRAINT = 'reserved_addrs_addr';
