import { Body, Controller, Delete, Get, HttpCode, Param, Put, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ApiDelete, ApiGet, ApiTag, ApiUpdate } from '../http/openapi/decorators.js';
import { setEtag } from '../http/preconditions.js';
import { Context, type RequestContext } from '../http/request-context.js';
import { Problem } from '../problem.js';
import { Mutations } from '../resources/mutation.js';
import { Logs, Read, type ReadRequest } from '../resources/resource.js';
import { type ModuleName, parseBackend, parseIpRestriction, parseTrafficPolicy } from './edge-modules.js';
import { moduleInput, PutBackendBody, PutIpRestrictionBody, PutTrafficPolicyBody } from './tcp-edges.bodies.js';
import { type TcpEdgeInput, UpdateTcpEdge } from './tcp-edges.commands.js';
import { TcpEdges, tcpEdgesReadModel } from './tcp-edges.read-model.js';
import {
  BackendResource,
  IpRestrictionResource,
  PATH,
  TrafficPolicyResource,
  tcpEdgeReads,
  toModules,
} from './tcp-edges.resource.js';

const BOTH_SHAPES = 'The body is the module, or `{"id": ..., "module": ...}` with the edge\'s id and the module.';
const ABSENT = ['edge_not_found', 'not_found'] as const;

/**
 * The modules of an edge one by one. Each change is an update of the edge; only here can a module be taken away, which
 * succeeds whether it was set or not: afterwards the edge has none.
 */
@ApiTag('Modules of TCP edges', 'edgtcp')
@Controller(`${PATH}/:id`)
export class EdgeModulesController {
  private readonly reads: ReturnType<typeof tcpEdgeReads>;

  constructor(
    private readonly mutations: Mutations,
    edges: TcpEdges,
    logs: Logs,
  ) {
    this.reads = tcpEdgeReads(edges, logs);
  }

  @Put('backend')
  @ApiUpdate(BackendResource, {
    id: 'putTcpEdgeBackend',
    summary: 'Set the backend of a TCP edge',
    description: BOTH_SHAPES,
    problems: ['edge_not_found', 'backend_id_invalid'],
  })
  putBackend(
    @Context() context: RequestContext,
    @Param('id') id: string,
    @Body() body: PutBackendBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.put(context, id, 'backend', { backend: moduleInput(body, id, parseBackend) }, reply);
  }

  @Get('backend')
  @ApiGet(BackendResource, { id: 'getTcpEdgeBackend', summary: 'Get the backend of a TCP edge', problems: ABSENT })
  getBackend(@Read() asked: ReadRequest, @Param('id') id: string) {
    return this.get(asked, id, 'backend');
  }

  @Delete('backend')
  @HttpCode(204)
  @ApiDelete({
    id: 'deleteTcpEdgeBackend',
    summary: 'Take the backend off a TCP edge',
    problems: ['edge_not_found'],
  })
  deleteBackend(
    @Context() context: RequestContext,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.delete(context, id, 'backend', reply);
  }

  @Put('ip_restriction')
  @ApiUpdate(IpRestrictionResource, {
    id: 'putTcpEdgeIpRestriction',
    summary: 'Set the IP restriction of a TCP edge',
    description: BOTH_SHAPES,
    problems: ['edge_not_found', 'ip_policy_id_invalid'],
  })
  putIpRestriction(
    @Context() context: RequestContext,
    @Param('id') id: string,
    @Body() body: PutIpRestrictionBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.put(
      context,
      id,
      'ip_restriction',
      { ip_restriction: moduleInput(body, id, parseIpRestriction) },
      reply,
    );
  }

  @Get('ip_restriction')
  @ApiGet(IpRestrictionResource, {
    id: 'getTcpEdgeIpRestriction',
    summary: 'Get the IP restriction of a TCP edge',
    problems: ABSENT,
  })
  getIpRestriction(@Read() asked: ReadRequest, @Param('id') id: string) {
    return this.get(asked, id, 'ip_restriction');
  }

  @Delete('ip_restriction')
  @HttpCode(204)
  @ApiDelete({
    id: 'deleteTcpEdgeIpRestriction',
    summary: 'Take the IP restriction off a TCP edge',
    problems: ['edge_not_found'],
  })
  deleteIpRestriction(
    @Context() context: RequestContext,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.delete(context, id, 'ip_restriction', reply);
  }

  @Put('traffic_policy')
  @ApiUpdate(TrafficPolicyResource, {
    id: 'putTcpEdgeTrafficPolicy',
    summary: 'Set the traffic policy of a TCP edge',
    description: BOTH_SHAPES,
    problems: ['edge_not_found'],
  })
  putTrafficPolicy(
    @Context() context: RequestContext,
    @Param('id') id: string,
    @Body() body: PutTrafficPolicyBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.put(
      context,
      id,
      'traffic_policy',
      { traffic_policy: moduleInput(body, id, parseTrafficPolicy) },
      reply,
    );
  }

  @Get('traffic_policy')
  @ApiGet(TrafficPolicyResource, {
    id: 'getTcpEdgeTrafficPolicy',
    summary: 'Get the traffic policy of a TCP edge',
    problems: ABSENT,
  })
  getTrafficPolicy(@Read() asked: ReadRequest, @Param('id') id: string) {
    return this.get(asked, id, 'traffic_policy');
  }

  @Delete('traffic_policy')
  @HttpCode(204)
  @ApiDelete({
    id: 'deleteTcpEdgeTrafficPolicy',
    summary: 'Take the traffic policy off a TCP edge',
    problems: ['edge_not_found'],
  })
  deleteTrafficPolicy(
    @Context() context: RequestContext,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.delete(context, id, 'traffic_policy', reply);
  }

  private async put(context: RequestContext, id: string, name: ModuleName, input: TcpEdgeInput, reply: FastifyReply) {
    const { entity } = await this.mutations.execute(tcpEdgesReadModel, new UpdateTcpEdge(context, id, input), reply);
    return entity === undefined ? undefined : toModules(entity.state, context.baseUrl)[name];
  }

  private async get(asked: ReadRequest, id: string, name: ModuleName) {
    const entity = await this.reads.find(asked, id);
    const module = toModules(entity.state, asked.baseUrl)[name];
    if (module === null) throw new Problem('not_found', `The edge has no ${name}.`);
    setEtag(asked.reply, entity);
    return module;
  }

  private async delete(context: RequestContext, id: string, name: ModuleName, reply: FastifyReply): Promise<void> {
    const command = new UpdateTcpEdge(context, id, { [name]: null });
    await this.mutations.execute(tcpEdgesReadModel, command, reply);
  }
}
