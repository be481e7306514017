import { Controller, Delete, Get, HttpCode, Param, Put } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { Problem } from '../../kernel/problem.js';
import { ApiDelete, ApiGet, ApiTag, ApiUpdate } from '../http/openapi/decorators.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../http/request-context.js';
import { Body } from '../http/validated-body.js';
import { Reads } from '../resources/reads.js';
import { ShowNothing, ShowPart } from '../resources/show-part.js';
import { type ModuleName, parseBackend, parseIpRestriction, parseTrafficPolicy } from './edge-modules.js';
import type { TcpEdge } from './tcp-edge.js';
import { moduleInput, PutBackendBody, PutIpRestrictionBody, PutTrafficPolicyBody } from './tcp-edges.bodies.js';
import { ChangeEdgeModule } from './tcp-edges.handlers.js';
import {
  BackendResource,
  IpRestrictionResource,
  TCP_EDGES,
  TrafficPolicyResource,
  toModules,
} from './tcp-edges.resource.js';

const ShowModule = (name: ModuleName) => ShowPart<TcpEdge>((edge, baseUrl) => toModules(edge, baseUrl)[name]);

const TWO_FORMS = 'The body is the module, or `{"id": ..., "module": ...}` with the id of the edge and the module.';

/** The modules of an edge under their own paths. Each change is an update of the edge. Only DELETE removes a module. */
@ApiTag('Modules of TCP edges', 'edgtcp')
@Controller(`${TCP_EDGES.path}/:id`)
export class EdgeModulesController {
  constructor(
    private readonly commands: CommandBus,
    private readonly reads: Reads,
  ) {}

  @Put('backend')
  @ShowModule('backend')
  @ApiUpdate(BackendResource, {
    id: 'putTcpEdgeBackend',
    summary: 'Set the backend of a TCP edge',
    description: TWO_FORMS,
    problems: ['edge_not_found', 'backend_id_invalid'],
  })
  putBackend(@Context() context: RequestContext, @Param('id') id: string, @Body() body: PutBackendBody) {
    const backend = moduleInput(body, id, parseBackend);
    return this.commands.execute(new ChangeEdgeModule(context, id, { backend }));
  }

  @Get('backend')
  @ShowModule('backend')
  @ApiGet(BackendResource, {
    id: 'getTcpEdgeBackend',
    summary: 'Get the backend of a TCP edge',
    problems: ['edge_not_found', 'not_found'],
  })
  getBackend(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.edgeWith('backend', request, id);
  }

  @Delete('backend')
  @HttpCode(204)
  @ShowNothing()
  @ApiDelete({
    id: 'deleteTcpEdgeBackend',
    summary: 'Remove the backend of a TCP edge',
    problems: ['edge_not_found'],
  })
  deleteBackend(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new ChangeEdgeModule(context, id, { backend: null }));
  }

  @Put('ip_restriction')
  @ShowModule('ip_restriction')
  @ApiUpdate(IpRestrictionResource, {
    id: 'putTcpEdgeIpRestriction',
    summary: 'Set the IP restriction of a TCP edge',
    description: TWO_FORMS,
    problems: ['edge_not_found', 'ip_policy_id_invalid'],
  })
  putIpRestriction(@Context() context: RequestContext, @Param('id') id: string, @Body() body: PutIpRestrictionBody) {
    const ip_restriction = moduleInput(body, id, parseIpRestriction);
    return this.commands.execute(new ChangeEdgeModule(context, id, { ip_restriction }));
  }

  @Get('ip_restriction')
  @ShowModule('ip_restriction')
  @ApiGet(IpRestrictionResource, {
    id: 'getTcpEdgeIpRestriction',
    summary: 'Get the IP restriction of a TCP edge',
    problems: ['edge_not_found', 'not_found'],
  })
  getIpRestriction(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.edgeWith('ip_restriction', request, id);
  }

  @Delete('ip_restriction')
  @HttpCode(204)
  @ShowNothing()
  @ApiDelete({
    id: 'deleteTcpEdgeIpRestriction',
    summary: 'Remove the IP restriction of a TCP edge',
    problems: ['edge_not_found'],
  })
  deleteIpRestriction(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new ChangeEdgeModule(context, id, { ip_restriction: null }));
  }

  @Put('traffic_policy')
  @ShowModule('traffic_policy')
  @ApiUpdate(TrafficPolicyResource, {
    id: 'putTcpEdgeTrafficPolicy',
    summary: 'Set the traffic policy of a TCP edge',
    description: TWO_FORMS,
    problems: ['edge_not_found'],
  })
  putTrafficPolicy(@Context() context: RequestContext, @Param('id') id: string, @Body() body: PutTrafficPolicyBody) {
    const traffic_policy = moduleInput(body, id, parseTrafficPolicy);
    return this.commands.execute(new ChangeEdgeModule(context, id, { traffic_policy }));
  }

  @Get('traffic_policy')
  @ShowModule('traffic_policy')
  @ApiGet(TrafficPolicyResource, {
    id: 'getTcpEdgeTrafficPolicy',
    summary: 'Get the traffic policy of a TCP edge',
    problems: ['edge_not_found', 'not_found'],
  })
  getTrafficPolicy(@Read() request: ReadRequest, @Param('id') id: string) {
    return this.edgeWith('traffic_policy', request, id);
  }

  @Delete('traffic_policy')
  @HttpCode(204)
  @ShowNothing()
  @ApiDelete({
    id: 'deleteTcpEdgeTrafficPolicy',
    summary: 'Remove the traffic policy of a TCP edge',
    problems: ['edge_not_found'],
  })
  deleteTrafficPolicy(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new ChangeEdgeModule(context, id, { traffic_policy: null }));
  }

  private async edgeWith(name: ModuleName, request: ReadRequest, id: string) {
    const found = await this.reads.get(TCP_EDGES, request, id);
    if (found.entity[name]) return found;
    throw new Problem('not_found', `The edge has no ${name}.`);
  }
}
