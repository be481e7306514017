import { Controller, Delete, Get, HttpCode, Param, Put } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { RouteConfig } from '@nestjs/platform-fastify';
import { MAX_CIDRS, parseCidrs } from '../bind-rules/source-networks.js';
import { ApiDelete, ApiField, ApiGet, ApiSchemaName, ApiTag, ApiUpdate } from '../http/openapi/decorators.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../http/request-context.js';
import { Body, List } from '../http/validated-body.js';
import { Problem } from '../problem.js';
import { parseExpiry } from '../resources/expiry/expiry.js';
import { EXPIRY, ExpiryResource, PutExpiryBody, requireExpiry } from '../resources/expiry/expiry.resource.js';
import { Reads } from '../resources/reads.js';
import type { SourceRestriction } from './ssh-credential.js';
import { RestrictSshCredentialSources, SetSshCredentialExpiry, SSH_CREDENTIALS } from './ssh-credentials.resource.js';

const CIDRS = {
  maxItems: MAX_CIDRS,
  items: { type: 'string' },
  example: ['192.0.2.0/24', '2001:db8::/32'],
};

class PutSourceRestrictionBody {
  @List({
    ...CIDRS,
    description: `Networks and addresses that tunnels may come from, 1 to ${MAX_CIDRS} of them. An IPv4-mapped IPv6 address counts as IPv4.`,
    required: true,
  })
  cidrs?: unknown[];
}

@ApiSchemaName('SourceRestriction')
class SourceRestrictionResource {
  @ApiField({ ...CIDRS, type: 'array', description: 'Networks that tunnels may come from, in canonical form.' })
  cidrs!: readonly string[];
}

const SOURCE_RESTRICTION = {
  render: ({ entity }: { readonly entity?: Partial<SourceRestriction> }): SourceRestrictionResource | undefined =>
    entity?.source_cidrs ? { cidrs: entity.source_cidrs } : undefined,
};
const NO_BODY = { render: () => undefined };
const REFUSED = ['role_missing', 'not_found'] as const;

/** When and from where a credential works. DELETE answers the same if nothing was set, as for the modules of an edge. */
@ApiTag('SSH credentials', 'sshcr')
@Controller(`${SSH_CREDENTIALS.path}/:id`)
export class CredentialRestrictionsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly reads: Reads,
  ) {}

  @Put('expiry')
  @RouteConfig(EXPIRY)
  @ApiUpdate(ExpiryResource, {
    id: 'putSshCredentialExpiry',
    summary: 'Set when an SSH credential expires',
    description: 'A time in the past takes effect at once.',
    problems: [...REFUSED],
  })
  putExpiry(@Context() context: RequestContext, @Param('id') id: string, @Body() body: PutExpiryBody) {
    return this.commands.execute(new SetSshCredentialExpiry(context, id, { expires_at: parseExpiry(body.expires_at) }));
  }

  @Get('expiry')
  @RouteConfig(EXPIRY)
  @ApiGet(ExpiryResource, {
    id: 'getSshCredentialExpiry',
    summary: 'Get when an SSH credential expires',
    problems: ['not_found'],
  })
  async getExpiry(@Read() request: ReadRequest, @Param('id') id: string) {
    return requireExpiry(await this.reads.get(SSH_CREDENTIALS, request, id), 'SSH credential');
  }

  @Delete('expiry')
  @RouteConfig(NO_BODY)
  @HttpCode(204)
  @ApiDelete({
    id: 'deleteSshCredentialExpiry',
    summary: 'Let an SSH credential never expire',
    problems: [...REFUSED],
  })
  deleteExpiry(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new SetSshCredentialExpiry(context, id, { expires_at: null }));
  }

  @Put('source_restriction')
  @RouteConfig(SOURCE_RESTRICTION)
  @ApiUpdate(SourceRestrictionResource, {
    id: 'putSshCredentialSourceRestriction',
    summary: 'Set where tunnels of an SSH credential may come from',
    problems: [...REFUSED],
  })
  putSourceRestriction(
    @Context() context: RequestContext,
    @Param('id') id: string,
    @Body() { cidrs }: PutSourceRestrictionBody,
  ) {
    return this.commands.execute(new RestrictSshCredentialSources(context, id, { source_cidrs: parseCidrs(cidrs) }));
  }

  @Get('source_restriction')
  @RouteConfig(SOURCE_RESTRICTION)
  @ApiGet(SourceRestrictionResource, {
    id: 'getSshCredentialSourceRestriction',
    summary: 'Get where tunnels of an SSH credential may come from',
    problems: ['not_found'],
  })
  async getSourceRestriction(@Read() request: ReadRequest, @Param('id') id: string) {
    const found = await this.reads.get(SSH_CREDENTIALS, request, id);
    if (found.entity.source_cidrs) return found;
    throw new Problem('not_found', 'The SSH credential has no source restriction.');
  }

  @Delete('source_restriction')
  @RouteConfig(NO_BODY)
  @HttpCode(204)
  @ApiDelete({
    id: 'deleteSshCredentialSourceRestriction',
    summary: 'Let tunnels of an SSH credential come from anywhere',
    problems: [...REFUSED],
  })
  deleteSourceRestriction(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new RestrictSshCredentialSources(context, id, { source_cidrs: null }));
  }
}
