import { v5 as uuidV5, v7 as uuidV7 } from 'uuid';
import type { EventMetadata } from '../event.js';

/** A new event id. Ids grow with time, which keeps the index on them compact. */
export const newEventId = (): string => uuidV7();

/** Namespace of the event ids made of Idempotency-Keys (RFC 9562, version 5). */
const IDEMPOTENCY_NAMESPACE = '7e9f6e4c-6d0b-4b52-9d0e-2f7a3c1d5b88';

/** The id of the event that a principal causes under this Idempotency-Key: the same for every repetition. */
const idempotentEventId = (actor: string, key: string): string => uuidV5(`${actor}\n${key}`, IDEMPOTENCY_NAMESPACE);

/** The id of the event of a request: made of its Idempotency-Key, which the log takes once, or else a new id. */
export const eventIdOf = ({ actor, idempotency_key: key }: EventMetadata): string =>
  key === undefined ? newEventId() : idempotentEventId(actor, key);
