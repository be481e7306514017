import { Controller, Delete, Get, HttpCode, Param, Patch, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiCreate, ApiDelete, ApiGet, ApiHistory, ApiList, ApiTag, ApiUpdate } from '../http/openapi/decorators.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../http/request-context.js';
import { Body } from '../http/validated-body.js';
import { HistoryResource } from '../resources/history.resource.js';
import { isAsOf, Reads } from '../resources/reads.js';
import { OpenTunnelsOfGroups } from './open-tunnels.js';
import { CreateTunnelGroup, DeleteTunnelGroup, UpdateTunnelGroup } from './tunnel-groups.handlers.js';
import {
  CreateTunnelGroupBody,
  TUNNEL_GROUPS,
  TunnelGroupResource,
  tunnelRefs,
  UpdateTunnelGroupBody,
} from './tunnel-groups.resource.js';

const LABEL_PROBLEMS = ['label_key_length', 'label_value_length', 'label_has_equals_sign'] as const;

@ApiTag('Tunnel groups', 'bkdtg')
@Controller(TUNNEL_GROUPS.path)
export class TunnelGroupsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly reads: Reads,
    private readonly tunnels: OpenTunnelsOfGroups,
  ) {}

  @Post()
  @ApiCreate(TunnelGroupResource, {
    id: 'createTunnelGroup',
    summary: 'Create a tunnel group',
    problems: LABEL_PROBLEMS,
  })
  create(@Context() context: RequestContext, @Body() body: CreateTunnelGroupBody) {
    return this.commands.execute(new CreateTunnelGroup(context, body));
  }

  @Get()
  @ApiList(TunnelGroupResource, TUNNEL_GROUPS.path, {
    id: 'listTunnelGroups',
    summary: 'List tunnel groups',
    listKey: 'backends',
    creation: [CreateTunnelGroupBody],
  })
  async list(@Read() request: ReadRequest) {
    const page = await this.reads.list(TUNNEL_GROUPS, request);
    if (isAsOf(request)) return page;
    const groups = page.backends as readonly TunnelGroupResource[];
    const open = await this.tunnels.of(request.caller, groups);
    const backends = groups.map((group) => ({
      ...group,
      tunnels: tunnelRefs(open.get(group.id) ?? [], request.baseUrl),
    }));
    return { ...page, backends };
  }

  @Get(':id')
  @ApiGet(TunnelGroupResource, { id: 'getTunnelGroup', summary: 'Get a tunnel group', problems: ['not_found'] })
  async get(@Read() request: ReadRequest, @Param('id') id: string) {
    const found = await this.reads.get(TUNNEL_GROUPS, request, id);
    if (isAsOf(request)) return found;
    const ids = (await this.tunnels.of(request.caller, [found.entity])).get(id);
    return ids === undefined ? found : found.with((baseUrl) => ({ tunnels: tunnelRefs(ids, baseUrl) }));
  }

  @Get(':id/events')
  @ApiHistory(HistoryResource, 'TunnelGroup', 'a tunnel group')
  history(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.reads.history(TUNNEL_GROUPS, request, id);
  }

  @Patch(':id')
  @ApiUpdate(TunnelGroupResource, {
    id: 'updateTunnelGroup',
    summary: 'Update a tunnel group',
    description: 'An absent or null field stays as it is; an empty text clears. Labels replace all labels.',
    problems: [...LABEL_PROBLEMS, 'not_found'],
  })
  update(@Context() context: RequestContext, @Param('id') id: string, @Body() body: UpdateTunnelGroupBody) {
    return this.commands.execute(new UpdateTunnelGroup(context, id, body));
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiDelete({
    id: 'deleteTunnelGroup',
    summary: 'Delete a tunnel group',
    description:
      'An edge that names the group keeps its id. In strict mode a group that an edge names cannot be deleted (409).',
    problems: ['not_found', 'conflict'],
  })
  delete(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new DeleteTunnelGroup(context, id));
  }
}
