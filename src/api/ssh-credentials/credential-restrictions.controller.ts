import { Controller, Delete, Get, HttpCode, Param, Put } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { malformed, Problem } from '../../kernel/problem.js';
import { parseCidrs } from '../../rules/index.js';
import { ApiDelete, ApiField, ApiGet, ApiSchemaName, ApiTag, ApiUpdate } from '../http/openapi/decorators.js';
import { Context, Read, type ReadRequest, type RequestContext } from '../http/request-context.js';
import { Body, List } from '../http/validated-body.js';
import { parseExpiry } from '../resources/expiry/expiry.js';
import { ExpiryResource, PutExpiryBody, toExpiry } from '../resources/expiry/expiry.resource.js';
import { Reads } from '../resources/reads.js';
import { ShowNothing, ShowPart } from '../resources/show-part.js';
import type { SshCredential } from './ssh-credential.js';
import { RestrictSshCredentialSources, SetSshCredentialExpiry } from './ssh-credentials.handlers.js';
import { SOURCE_CIDRS, SSH_CREDENTIALS } from './ssh-credentials.resource.js';

class PutSourceRestrictionBody {
  @List({ ...SOURCE_CIDRS, required: true }) cidrs?: unknown[];
}

@ApiSchemaName('SourceRestriction')
class SourceRestrictionResource {
  @ApiField({ ...SOURCE_CIDRS, type: 'array', description: 'Networks that tunnels may come from, in canonical form.' })
  cidrs!: readonly string[];
}

const ACCESS_PROBLEMS = ['role_missing', 'not_found'] as const;
const ShowExpiry = () => ShowPart<SshCredential>(toExpiry);
const ShowSources = () => ShowPart<SshCredential>(({ source_cidrs: cidrs }) => cidrs && { cidrs });

/** When and from where a credential works. Each change is a change of the credential. */
@ApiTag('SSH credentials', 'sshcr')
@Controller(`${SSH_CREDENTIALS.path}/:id`)
export class CredentialRestrictionsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly reads: Reads,
  ) {}

  @Put('expiry')
  @ShowExpiry()
  @ApiUpdate(ExpiryResource, {
    id: 'putSshCredentialExpiry',
    summary: 'Set when an SSH credential expires',
    description: 'A time in the past takes effect at once.',
    problems: ACCESS_PROBLEMS,
  })
  putExpiry(@Context() context: RequestContext, @Param('id') id: string, @Body() body: PutExpiryBody) {
    const expires_at = parseExpiry(body.expires_at);
    return this.commands.execute(new SetSshCredentialExpiry(context, id, { expires_at }));
  }

  @Get('expiry')
  @ShowExpiry()
  @ApiGet(ExpiryResource, {
    id: 'getSshCredentialExpiry',
    summary: 'Get when an SSH credential expires',
    problems: ['not_found'],
  })
  async getExpiry(@Read() request: ReadRequest, @Param('id') id: string) {
    const found = await this.reads.get(SSH_CREDENTIALS, request, id);
    if (found.entity.expires_at) return found;
    throw new Problem('not_found', 'The SSH credential has no expiry.');
  }

  @Delete('expiry')
  @HttpCode(204)
  @ShowNothing()
  @ApiDelete({
    id: 'deleteSshCredentialExpiry',
    summary: 'Let an SSH credential never expire',
    problems: ACCESS_PROBLEMS,
  })
  deleteExpiry(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new SetSshCredentialExpiry(context, id, { expires_at: null }));
  }

  @Put('source_restriction')
  @ShowSources()
  @ApiUpdate(SourceRestrictionResource, {
    id: 'putSshCredentialSourceRestriction',
    summary: 'Set where tunnels of an SSH credential may come from',
    problems: ACCESS_PROBLEMS,
  })
  putSources(@Context() context: RequestContext, @Param('id') id: string, @Body() { cidrs }: PutSourceRestrictionBody) {
    if (cidrs === undefined)
      throw malformed('cidrs is missing; send 1 or more networks. DELETE removes the restriction.');
    const source_cidrs = parseCidrs(cidrs, 'cidrs');
    return this.commands.execute(new RestrictSshCredentialSources(context, id, { source_cidrs }));
  }

  @Get('source_restriction')
  @ShowSources()
  @ApiGet(SourceRestrictionResource, {
    id: 'getSshCredentialSourceRestriction',
    summary: 'Get where tunnels of an SSH credential may come from',
    problems: ['not_found'],
  })
  async getSources(@Read() request: ReadRequest, @Param('id') id: string) {
    const found = await this.reads.get(SSH_CREDENTIALS, request, id);
    if (found.entity.source_cidrs) return found;
    throw new Problem('not_found', 'The SSH credential has no source restriction.');
  }

  @Delete('source_restriction')
  @HttpCode(204)
  @ShowNothing()
  @ApiDelete({
    id: 'deleteSshCredentialSourceRestriction',
    summary: 'Let tunnels of an SSH credential come from anywhere',
    problems: ACCESS_PROBLEMS,
  })
  deleteSources(@Context() context: RequestContext, @Param('id') id: string) {
    return this.commands.execute(new RestrictSshCredentialSources(context, id, { source_cidrs: null }));
  }
}
