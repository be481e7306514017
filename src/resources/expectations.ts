import type { ChangeContext } from '../http/request-context.js';
import type { DomainEvent } from '../log/event.js';
import type { Entity } from '../log/read-model.js';
import { Problem } from '../problem.js';
import { refuseReadOnlyChanges } from './read-only-fields.js';
import type { Resource } from './resource.js';

/** Throws Problem when the entity is not as the caller says: its read-only fields in the body of a PATCH, and If-Match. */
export function refuseUnexpected<State extends object, Event extends DomainEvent>(
  resource: Resource<State, Event>,
  entity: Entity<State>,
  { ifMatch }: Pick<ChangeContext, 'ifMatch'>,
  sent: object | undefined,
): void {
  if (sent !== undefined) refuseReadOnlyChanges(sent, resource.toResource(entity, ''), resource.readOnlyFields);
  if (ifMatch?.(entity.version) !== false) return;
  throw new Problem('precondition_failed', `If-Match does not hold: the resource's ETag is "${entity.version}" now.`);
}
