import { Controller, Get, Param } from '@nestjs/common';
import { ApiGetPart, ApiTag } from '../http/openapi/decorators.js';
import { Read, type ReadRequest } from '../http/request-context.js';
import { EntityQueries } from '../resources/entity-queries.js';
import { CredentialUsage } from './credential-usage.js';
import { CredentialUsageResource } from './credential-usage.resource.js';
import { SSH_CREDENTIALS } from './ssh-credentials.resource.js';

@ApiTag('SSH credentials', 'sshcr')
@Controller(SSH_CREDENTIALS.path)
export class CredentialUsageController {
  constructor(
    private readonly entities: EntityQueries,
    private readonly usage: CredentialUsage,
  ) {}

  @Get(':id/usage')
  @ApiGetPart(CredentialUsageResource, {
    id: 'getSshCredentialUsage',
    summary: 'Get when an SSH credential was last used and seen',
    problems: ['not_found'],
  })
  async get(@Read() { caller }: ReadRequest, @Param('id') id: string): Promise<CredentialUsageResource> {
    const credential = await this.entities.find(SSH_CREDENTIALS, { accountId: caller.accountId, id });
    if (credential === undefined) throw SSH_CREDENTIALS.notFound();
    return { id, ...(await this.usage.shownTo(caller, credential)) };
  }
}
