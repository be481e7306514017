import { Controller, Delete, Get, HttpCode, Param, Put, type Type } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import type { Entity } from '../../../event-log/index.js';
import { Problem, type ProblemName } from '../../../kernel/problem.js';
import type { Answer } from '../../http/answer.js';
import { RouteConfig } from '../../http/documentation.js';
import { ApiDelete, ApiGet, ApiTag, ApiUpdate } from '../../http/openapi/decorators.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../../http/request-context.js';
import { BodyOf } from '../../http/validated-body.js';
import { Reads } from '../reads.js';
import type { Resource } from '../resource.js';

/** A part of a resource that has a path of its own: PUT sets it, GET shows it, DELETE removes it. */
export interface PartRoutes<State, Body extends object> {
  readonly tag: string;
  /** In the names of operations, as in `putTcpEdgeBackend`. */
  readonly name: string;
  /** The last segment of its path. */
  readonly path: string;
  /** What PUT, GET and DELETE do, in the words of the documentation. */
  readonly summaries: readonly [put: string, get: string, remove: string];
  /** More about PUT and about DELETE. */
  readonly description?: string;
  readonly ofRemoval?: string;
  readonly problems: { readonly put: readonly ProblemName[]; readonly remove: readonly ProblemName[] };
  readonly answer: Type<object>;
  readonly body: Type<Body>;
  /** The part as GET shows it; null or undefined if the entity has none. */
  shown(state: Entity<State>, baseUrl: string): object | null | undefined;
  /** The message of the 404 if the entity has none. Absent: every entity has one. */
  readonly absent?: string;
  set(context: RequestContext, id: string, body: Body): object;
  /** DELETE answers the same if the entity has none. */
  remove(context: RequestContext, id: string): object;
}

/** Makes the controller of a part. Each change of a part is a change of its entity. The function is long since it holds a class. */
export function partControllerOf<State extends object, Body extends object>(
  resource: Resource<State>,
  part: PartRoutes<State, Body>,
): Type {
  const { name, path, absent, answer, problems, shown } = part;
  const [put, get, remove] = part.summaries;
  const notFound = resource.notFound().problem;
  /** Renders the part in place of its entity. */
  const PART = RouteConfig({
    render: ({ entity }: Answer & { readonly entity?: Entity<State> }, baseUrl: string) =>
      entity && (shown(entity, baseUrl) ?? undefined),
  });
  const described = (description: string | undefined) => description !== undefined && { description };

  @ApiTag(part.tag, resource.idPrefix)
  @Controller(`${resource.path}/:id/${path}`)
  class PartController {
    constructor(
      private readonly commands: CommandBus,
      private readonly reads: Reads,
    ) {}

    @Put()
    @PART
    @ApiUpdate(answer, { id: `put${name}`, summary: put, ...described(part.description), problems: problems.put })
    put(@Context() context: RequestContext, @Param('id') id: string, @BodyOf(part.body) body: object) {
      return this.commands.execute(part.set(context, id, body as Body));
    }

    @Get()
    @PART
    @ApiGet(answer, {
      id: `get${name}`,
      summary: get,
      problems: absent === undefined ? [notFound] : [notFound, 'not_found'],
    })
    async get(@Read() request: ReadRequest, @Param('id') id: string) {
      const found = await this.reads.get(resource, request, id);
      if (absent === undefined || shown(found.entity, request.baseUrl)) return found;
      throw new Problem('not_found', absent);
    }

    @Delete()
    @RouteConfig({ render: () => undefined })
    @HttpCode(204)
    @ApiDelete({ id: `delete${name}`, summary: remove, ...described(part.ofRemoval), problems: problems.remove })
    delete(@Context() context: RequestContext, @Param('id') id: string) {
      return this.commands.execute(part.remove(context, id));
    }
  }
  return PartController;
}
