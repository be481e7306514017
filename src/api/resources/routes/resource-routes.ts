import { Controller, Delete, Get, HttpCode, Param, Patch, Post, type Type } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag, ApiUpdate } from '../../http/openapi/decorators.js';
import type { Operation } from '../../http/openapi/operations.js';
import { AS_OF, type ParameterOf } from '../../http/openapi/parts.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../../http/request-context.js';
import { BodyOf } from '../../http/validated-body.js';
import { HistoryResource } from '../history.resource.js';
import { Reads } from '../reads.js';
import type { Resource } from '../resource.js';

/** A route: its command, the class of its body, and what its documentation says beyond that of every resource. */
type Documented = Pick<Operation, 'description' | 'problems'>;
type Creation<Body> = Documented & {
  readonly body: Type<Body>;
  readonly command: new (context: RequestContext, body: Body) => object;
};
type Update<Body> = Documented & {
  readonly body: Type<Body>;
  readonly command: new (context: RequestContext, id: string, body: Body) => object;
};
type Deletion = Documented & { readonly command: new (context: RequestContext, id: string) => object };

/** The routes of a resource as data: POST, GET of one, of the list and of the history, PATCH and DELETE. */
export interface ResourceRoutes<Create extends object, Change extends object> {
  /** One and several of them in the names of operations, as in `getSshCredential` and `listSshCredentials`. */
  readonly names: readonly [one: string, many: string];
  /** The same in sentences, as in `Get an SSH credential` and `List SSH credentials`. */
  readonly nouns: readonly [one: string, many: string];
  /** The class of the answers, and that of the answer to POST if it is another one. */
  readonly answer: Type<object>;
  readonly created?: Type<object>;
  readonly create: Creation<Create>;
  readonly list?: Documented & { readonly parameters?: readonly ParameterOf[] };
  readonly update: Update<Change>;
  readonly delete: Deletion;
}

/** Makes the controller of a resource. A GET is answered by the one runner of reads, a change by the handler of its command. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: it holds a whole class, and each of the six routes is short.
export function controllerOf<State extends object, Create extends object, Change extends object>(
  resource: Resource<State>,
  routes: ResourceRoutes<Create, Change>,
): Type {
  const { answer, created = answer, create, list, update, delete: removal } = routes;
  const [[name, names], [one, many]] = [routes.names, routes.nouns];
  const { path, plural = resource.path } = resource;
  const notFound = resource.notFound().problem;
  const parameters = list?.parameters ?? [AS_OF];
  const named = { id: `list${names}`, summary: `List ${many}` };
  @ApiTag(
    many.replace(/^./, (first) => first.toUpperCase()),
    resource.idPrefix,
  )
  @Controller(path)
  class ResourceController {
    constructor(
      private readonly commands: CommandBus,
      private readonly reads: Reads,
    ) {}

    @Post()
    @ApiCreate(created, { ...create, id: `create${name}`, summary: `Create ${one}` })
    post(@Context() context: RequestContext, @BodyOf(create.body) body: object) {
      return this.commands.execute(new create.command(context, body as Create));
    }

    @Get()
    @ApiList(answer, path, { ...list, ...named, plural, parameters, creation: [create.body] })
    page(@Read() request: ReadRequest) {
      return this.reads.list(resource, request);
    }

    @Get(':id')
    @ApiGet(answer, { id: `get${name}`, summary: `Get ${one}`, problems: [notFound] })
    get(@Read() request: ReadRequest, @Param('id') id: string) {
      return this.reads.get(resource, request, id);
    }

    @Get(':id/events')
    @ApiHistory(HistoryResource, {
      id: `get${name}History`,
      summary: `Get the history of ${one}`,
      problems: [notFound, 'role_missing'],
    })
    history(@Read() request: ReadRequest, @Param('id') id: string) {
      return this.reads.history(resource, request, id);
    }

    @Patch(':id')
    @ApiUpdate(answer, { ...update, id: `update${name}`, summary: `Update ${one}` })
    patch(@Context() context: RequestContext, @Param('id') id: string, @BodyOf(update.body) body: object) {
      return this.commands.execute(new update.command(context, id, body as Change));
    }

    @Delete(':id')
    @ApiDelete({ ...removal, id: `delete${name}`, summary: `Delete ${one}` })
    @HttpCode(204)
    delete(@Context() context: RequestContext, @Param('id') id: string) {
      return this.commands.execute(new removal.command(context, id));
    }
  }
  return ResourceController;
}
