import type { Entity } from '../../event-log/index.js';
import type { Answer } from '../http/answer.js';
import { RouteConfig } from '../http/documentation.js';

/** Decorator: the route answers with a part of its entity, and without a body if the entity has no such part. */
export const ShowPart = <State>(
  partOf: (entity: Entity<State>, baseUrl: string) => object | null | undefined,
): MethodDecorator =>
  RouteConfig({
    render: ({ entity }: Answer & { readonly entity?: Entity<State> }, baseUrl: string) =>
      entity && (partOf(entity, baseUrl) ?? undefined),
  });

/** Decorator: the route answers without a body, since it removes a part of its entity. */
export const ShowNothing = (): MethodDecorator => ShowPart(() => undefined);
