import { Controller, Delete, Get, HttpCode, Param, Put } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiDelete, ApiGet, ApiTag, ApiUpdate } from '../http/openapi/decorators.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../http/request-context.js';
import { Body } from '../http/validated-body.js';
import { Problem } from '../problem.js';
import type { Changed } from '../resources/changes.js';
import { type Found, Reads } from '../resources/reads.js';
import { type ModuleName, parseBackend, parseIpRestriction, parseTrafficPolicy } from './edge-modules.js';
import type { TcpEdge } from './tcp-edge.js';
import { moduleInput, PutBackendBody, PutIpRestrictionBody, PutTrafficPolicyBody } from './tcp-edges.bodies.js';
import {
  BackendResource,
  IpRestrictionResource,
  TCP_EDGES,
  TrafficPolicyResource,
  toModules,
  UpdateTcpEdge,
} from './tcp-edges.resource.js';

const BOTH_SHAPES = 'The body is the module, or `{"id": ..., "module": ...}` with the id of the edge and the module.';
const ABSENT = ['edge_not_found', 'not_found'] as const;

/** Renders one module of an edge in place of the edge. */
const moduleOf = (name: ModuleName) => ({
  render: ({ entity }: Changed<TcpEdge> | Found<TcpEdge>, baseUrl: string) =>
    entity && toModules(entity, baseUrl)[name],
});
const NO_BODY = { render: () => undefined };

/**
 * The modules of an edge, each under its own path. Each change is an update of the edge. Only DELETE removes a module;
 * it answers the same if the module was not set.
 */
@ApiTag('Modules of TCP edges', 'edgtcp')
@Controller(`${TCP_EDGES.path}/:id`)
export class EdgeModulesController {
  constructor(
    private readonly commands: CommandBus,
    private readonly reads: Reads,
  ) {}

  @Put('backend')
  @RouteConfig(moduleOf('backend'))
  @ApiUpdate(BackendResource, {
    id: 'putTcpEdgeBackend',
    summary: 'Set the backend of a TCP edge',
    description: BOTH_SHAPES,
    problems: ['edge_not_found', 'backend_id_invalid'],
  })
  putBackend(@Context() context: RequestContext, @Param('id') id: string, @Body() body: PutBackendBody) {
    const backend = moduleInput(body, id, parseBackend);
    return this.commands.execute(new UpdateTcpEdge(context, id, { backend }));
  }

  @Get('backend')
  @RouteConfig(moduleOf('backend'))
  @ApiGet(BackendResource, { id: 'getTcpEdgeBackend', summary: 'Get the backend of a TCP edge', problems: ABSENT })
  getBackend(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.get(request, id, 'backend');
  }

  @Delete('backend')
  @RouteConfig(NO_BODY)
  @HttpCode(204)
  @ApiDelete({ id: 'deleteTcpEdgeBackend', summary: 'Remove the backend of a TCP edge', problems: ['edge_not_found'] })
  deleteBackend(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new UpdateTcpEdge(context, id, { backend: null }));
  }

  @Put('ip_restriction')
  @RouteConfig(moduleOf('ip_restriction'))
  @ApiUpdate(IpRestrictionResource, {
    id: 'putTcpEdgeIpRestriction',
    summary: 'Set the IP restriction of a TCP edge',
    description: BOTH_SHAPES,
    problems: ['edge_not_found', 'ip_policy_id_invalid'],
  })
  putIpRestriction(@Context() context: RequestContext, @Param('id') id: string, @Body() body: PutIpRestrictionBody) {
    const restriction = moduleInput(body, id, parseIpRestriction);
    return this.commands.execute(new UpdateTcpEdge(context, id, { ip_restriction: restriction }));
  }

  @Get('ip_restriction')
  @RouteConfig(moduleOf('ip_restriction'))
  @ApiGet(IpRestrictionResource, {
    id: 'getTcpEdgeIpRestriction',
    summary: 'Get the IP restriction of a TCP edge',
    problems: ABSENT,
  })
  getIpRestriction(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.get(request, id, 'ip_restriction');
  }

  @Delete('ip_restriction')
  @RouteConfig(NO_BODY)
  @HttpCode(204)
  @ApiDelete({
    id: 'deleteTcpEdgeIpRestriction',
    summary: 'Remove the IP restriction of a TCP edge',
    problems: ['edge_not_found'],
  })
  deleteIpRestriction(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new UpdateTcpEdge(context, id, { ip_restriction: null }));
  }

  @Put('traffic_policy')
  @RouteConfig(moduleOf('traffic_policy'))
  @ApiUpdate(TrafficPolicyResource, {
    id: 'putTcpEdgeTrafficPolicy',
    summary: 'Set the traffic policy of a TCP edge',
    description: BOTH_SHAPES,
    problems: ['edge_not_found'],
  })
  putTrafficPolicy(@Context() context: RequestContext, @Param('id') id: string, @Body() body: PutTrafficPolicyBody) {
    const policy = moduleInput(body, id, parseTrafficPolicy);
    return this.commands.execute(new UpdateTcpEdge(context, id, { traffic_policy: policy }));
  }

  @Get('traffic_policy')
  @RouteConfig(moduleOf('traffic_policy'))
  @ApiGet(TrafficPolicyResource, {
    id: 'getTcpEdgeTrafficPolicy',
    summary: 'Get the traffic policy of a TCP edge',
    problems: ABSENT,
  })
  getTrafficPolicy(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.get(request, id, 'traffic_policy');
  }

  @Delete('traffic_policy')
  @RouteConfig(NO_BODY)
  @HttpCode(204)
  @ApiDelete({
    id: 'deleteTcpEdgeTrafficPolicy',
    summary: 'Remove the traffic policy of a TCP edge',
    problems: ['edge_not_found'],
  })
  deleteTrafficPolicy(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new UpdateTcpEdge(context, id, { traffic_policy: null }));
  }

  private async get(request: ReadRequest, id: string, name: ModuleName): Promise<Found<TcpEdge>> {
    const found = await this.reads.get(TCP_EDGES, request, id);
    if (found.entity[name] === null) throw new Problem('not_found', `The edge has no ${name}.`);
    return found;
  }
}
