import { Body, Controller, Delete, Get, HttpCode, Param, Put, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { tellVersion } from '../http/conditions.js';
import { Mutations } from '../http/mutation.js';
import { Context, type RequestContext } from '../http/request-context.js';
import { Problem } from '../problem.js';
import { MODULE_NAMES, type ModuleName, parseBackend, parseIpRestriction, parseTrafficPolicy } from './edge-modules.js';
import { notFound } from './tcp-edge.js';
import { moduleInput, PutBackendBody, PutIpRestrictionBody, PutTrafficPolicyBody } from './tcp-edges.bodies.js';
import { type TcpEdgeInput, UpdateTcpEdge } from './tcp-edges.commands.js';
import { TcpEdges, tcpEdgesReadModel } from './tcp-edges.read-model.js';
import { PATH, toModules } from './tcp-edges.resource.js';

/** The modules of an edge one by one. Each change is an update of the edge; only here can a module be taken away. */
@Controller(`${PATH}/:id`)
export class EdgeModulesController {
  constructor(
    private readonly mutations: Mutations,
    private readonly edges: TcpEdges,
  ) {}

  @Put('backend')
  putBackend(
    @Context() context: RequestContext,
    @Param('id') id: string,
    @Body() body: PutBackendBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.put(context, id, 'backend', { backend: moduleInput(body, id, parseBackend) }, reply);
  }

  @Put('ip_restriction')
  putIpRestriction(
    @Context() context: RequestContext,
    @Param('id') id: string,
    @Body() body: PutIpRestrictionBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const input = { ip_restriction: moduleInput(body, id, parseIpRestriction) };
    return this.put(context, id, 'ip_restriction', input, reply);
  }

  @Put('traffic_policy')
  putTrafficPolicy(
    @Context() context: RequestContext,
    @Param('id') id: string,
    @Body() body: PutTrafficPolicyBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const input = { traffic_policy: moduleInput(body, id, parseTrafficPolicy) };
    return this.put(context, id, 'traffic_policy', input, reply);
  }

  @Get(':module')
  async get(
    @Context() { caller, baseUrl }: RequestContext,
    @Param('id') id: string,
    @Param('module') moduleName: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const name = moduleNamed(moduleName);
    const entity = await this.edges.find({ accountId: caller.accountId, id });
    if (entity === undefined) throw notFound();
    const module = toModules(entity.state, baseUrl)[name];
    tellVersion(reply, entity);
    if (module === null) throw new Problem('not_found', `The edge has no ${name}.`);
    return module;
  }

  /** Succeeds whether the module was set or not: afterwards the edge has none. */
  @Delete(':module')
  @HttpCode(204)
  async delete(
    @Context() context: RequestContext,
    @Param('id') id: string,
    @Param('module') moduleName: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    const command = new UpdateTcpEdge(context, id, { [moduleNamed(moduleName)]: null });
    await this.mutations.execute(tcpEdgesReadModel, command, reply);
  }

  private async put(context: RequestContext, id: string, name: ModuleName, input: TcpEdgeInput, reply: FastifyReply) {
    const { entity } = await this.mutations.execute(tcpEdgesReadModel, new UpdateTcpEdge(context, id, input), reply);
    return entity === undefined ? undefined : toModules(entity.state, context.baseUrl)[name];
  }
}

function moduleNamed(text: string): ModuleName {
  const name = MODULE_NAMES.find((known) => known === text);
  if (name === undefined) throw new Problem('not_found', 'Resource not found');
  return name;
}
