import { Problem } from '../../kernel/problem.js';
import { type PlainEvent, plainEntity } from '../resources/plain-entity.js';

/** An address that only one account of the deployment may bind and serve. */
export interface ReservedAddr {
  readonly description: string;
  readonly metadata: string;
  /** `host:port` in canonical form. */
  readonly addr: string;
  /** The region of its pool, or as the caller named it; empty if nobody did. */
  readonly region: string;
}

export type ReservedAddrEvent = PlainEvent<'reserved_addr', ReservedAddr>;

/** The same for an unknown id and for an id of another account. */
export const reservedAddrNotFound = (): Problem => new Problem('not_found', 'Resource not found');

export const reservedAddr = plainEntity<'reserved_addr', ReservedAddr>('reserved_addr', reservedAddrNotFound);
