import { Controller, Delete, Get, HttpCode, Param, Patch, Post, type Type } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag, ApiUpdate } from '../../http/openapi/decorators.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../../http/request-context.js';
import { Body, BodyClass } from '../../http/validated-body.js';
import type { CreateCommand, DeleteCommand, UpdateCommand } from '../../resources/commands.js';
import { HistoryResource } from '../../resources/history.resource.js';
import { Reads } from '../../resources/reads.js';
import type { ResourceDescriptor } from '../../resources/resource-descriptor.js';
import { CHANGE_PROBLEMS, CREATION_PROBLEMS, type Principal, type PrincipalEvent } from './principal.js';

interface Principals<Sent extends object, Changes extends object> {
  readonly of: ResourceDescriptor<Principal, PrincipalEvent>;
  /** In the ids of the operations. */
  readonly name: string;
  /** In their summaries. */
  readonly noun: string;
  readonly resource: Type<object>;
  readonly bodies: { readonly create: Type<Sent>; readonly update: Type<Changes> };
  readonly commands: {
    readonly Create: new (context: RequestContext, body: Sent) => CreateCommand<Sent>;
    readonly Update: new (context: RequestContext, id: string, body: Changes) => UpdateCommand<Changes>;
    readonly Delete: new (context: RequestContext, id: string) => DeleteCommand;
  };
  /** The descriptions of these operations. */
  readonly update: string;
  readonly delete: string;
}

/** Makes the controller of users, or of bots under one of their paths. */
export function principalsController<Sent extends object, Changes extends object>({
  of: principals,
  name,
  noun,
  resource,
  bodies,
  commands: { Create, Update, Delete: Remove },
  ...descriptions
}: Principals<Sent, Changes>): Type<unknown> {
  const [a, many] = [`a ${noun}`, `${noun}s`];
  const updating = { description: descriptions.update, problems: CHANGE_PROBLEMS };
  const deleting = { description: descriptions.delete, problems: CHANGE_PROBLEMS };

  @ApiTag(`${many.charAt(0).toUpperCase()}${many.slice(1)}`, principals.idPrefix)
  @Controller(principals.path)
  class PrincipalsController {
    constructor(
      private readonly commands: CommandBus,
      private readonly reads: Reads,
    ) {}

    @Post()
    @BodyClass(bodies.create)
    @ApiCreate(resource, { id: `create${name}`, summary: `Create ${a}`, problems: CREATION_PROBLEMS })
    create(@Context() context: RequestContext, @Body() body: Sent) {
      return this.commands.execute(new Create(context, body));
    }

    @Get()
    @ApiList(resource, principals.path, { id: `list${name}s`, summary: `List ${many}`, creation: [bodies.create] })
    list(@Read() request: ReadRequest) {
      return this.reads.list(principals, request);
    }

    @Get(':id')
    @ApiGet(resource, { id: `get${name}`, summary: `Get ${a}`, problems: ['not_found'] })
    get(@Read() request: ReadRequest, @Param('id') id: string) {
      return this.reads.get(principals, request, id);
    }

    @Get(':id/events')
    @ApiHistory(HistoryResource, name, a)
    history(@Read() request: ReadRequest, @Param('id') id: string) {
      return this.reads.history(principals, request, id);
    }

    @Patch(':id')
    @BodyClass(bodies.update)
    @ApiUpdate(resource, { ...updating, id: `update${name}`, summary: `Update ${a}` })
    update(@Context() context: RequestContext, @Param('id') id: string, @Body() body: Changes) {
      return this.commands.execute(new Update(context, id, body));
    }

    @Delete(':id')
    @HttpCode(204)
    @ApiDelete({ ...deleting, id: `delete${name}`, summary: `Delete ${a}` })
    delete(@Context() context: RequestContext, @Param('id') id: string) {
      return this.commands.execute(new Remove(context, id));
    }
  }
  return PrincipalsController;
}
