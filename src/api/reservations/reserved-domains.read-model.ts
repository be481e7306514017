import { entityTable, type ReadModel } from '../../event-log/index.js';
import { type ReservedDomain, type ReservedDomainEvent, reservedDomain } from './reserved-domain.js';

export const reservedDomainsReadModel: ReadModel<ReservedDomain, ReservedDomainEvent> = {
  streamPrefixes: ['rd'],
  events: {
    'reserved_domain_created.v1': { isStart: true },
    'reserved_domain_updated.v1': {},
    'reserved_domain_deleted.v1': { isEnd: true },
  },
  evolve: reservedDomain.evolve,
  tables: [
    entityTable<ReservedDomain>('reserved_domains', ['description', 'metadata', 'domain', 'text', 'region'], (row) => [
      `reserved:${row.domain}`,
    ]),
  ],
};

/** The unique index over all accounts; violated if two creates race for one domain. */
export const DOMAIN_CONSTRAINT = 'reserved_domains_domain';
/** The triggers on both tables report this if another account has reserved what overlaps. */
export const ELSEWHERE_CONSTRAINT = 'reserved_elsewhere';
/** The triggers report this if a name of another account rests that is the same or overlaps. */
export const RESTS_CONSTRAINT = 'rests_elsewhere';
/** They report this if the account has more reservations than the maximum of the append. */
export const TOO_MANY_CONSTRAINT = 'too_many_reservations';
