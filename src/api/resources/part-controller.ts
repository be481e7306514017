import { Controller, Delete, Get, HttpCode, Param, Put, type Type } from '@nestjs/common';
import { type Command, CommandBus } from '@nestjs/cqrs';
import type { DomainEvent, Entity } from '../../event-log/index.js';
import { Problem } from '../../kernel/problem.js';
import type { Answer } from '../http/answer.js';
import { ApiDelete, ApiGet, ApiTag, ApiUpdate } from '../http/openapi/decorators.js';
import type { Operation } from '../http/openapi/operations.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../http/request-context.js';
import { Body, BodyClass } from '../http/validated-body.js';
import { Reads } from './reads.js';
import type { ResourceDescriptor } from './resource-descriptor.js';
import { ShowNothing, ShowPart } from './show-part.js';

type Documented = Pick<Operation, 'description' | 'problems'>;

/** A part of an entity under a path of its own. Each change of the part is a change of the entity. */
interface Part<State extends object, Event extends DomainEvent, Sent extends object> {
  readonly of: ResourceDescriptor<State, Event>;
  readonly tag: string;
  readonly path: string;
  /** The end of the ids of its operations. */
  readonly name: string;
  /** Completes the summaries "Set ..." and "Get ...". */
  readonly what: string;
  readonly put: Documented;
  readonly get: Documented;
  readonly delete: Documented & Pick<Operation, 'summary'>;
  readonly body: Type<Sent>;
  readonly resource: Type<object>;
  /** Nothing if the entity has no such part. Then GET answers 404 with the sentence `absent`. */
  readonly show: (entity: Entity<State>, baseUrl: string) => object | null | undefined;
  readonly absent: string;
  /** The command for PUT with this body, or for DELETE without one. Throws Problem. */
  readonly change: (context: RequestContext, id: string, body?: Sent) => Command<Answer>;
}

/** Makes the controller of a part: PUT, GET and DELETE. */
export function partController<State extends object, Event extends DomainEvent, Sent extends object>(
  part: Part<State, Event, Sent>,
): Type<unknown> {
  const { of: resource, name, what, show } = part;

  @ApiTag(part.tag, resource.idPrefix)
  @Controller(`${resource.path}/:id/${part.path}`)
  class PartController {
    constructor(
      private readonly commands: CommandBus,
      private readonly reads: Reads,
    ) {}

    @Put()
    @BodyClass(part.body)
    @ShowPart(show)
    @ApiUpdate(part.resource, { id: `put${name}`, summary: `Set ${what}`, ...part.put })
    put(@Context() context: RequestContext, @Param('id') id: string, @Body() body: Sent) {
      return this.commands.execute(part.change(context, id, body));
    }

    @Get()
    @ShowPart(show)
    @ApiGet(part.resource, { id: `get${name}`, summary: `Get ${what}`, ...part.get })
    async get(@Read() request: ReadRequest, @Param('id') id: string) {
      const found = await this.reads.get(resource, request, id);
      if (show(found.entity, request.baseUrl)) return found;
      throw new Problem('not_found', part.absent);
    }

    @Delete()
    @HttpCode(204)
    @ShowNothing()
    @ApiDelete({ id: `delete${name}`, ...part.delete })
    delete(@Context() context: RequestContext, @Param('id') id: string) {
      return this.commands.execute(part.change(context, id));
    }
  }
  return PartController;
}
