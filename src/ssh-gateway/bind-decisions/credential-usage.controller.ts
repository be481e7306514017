import { Controller, Get, Param } from '@nestjs/common';
import { ApiGetPart, ApiTag } from '../../http/openapi/decorators.js';
import { Context, type RequestContext } from '../../http/request-context.js';
import { notFound } from '../../ssh-credentials/ssh-credential.js';
import { SshCredentials } from '../../ssh-credentials/ssh-credentials.read-model.js';
import { CredentialUsageResource } from './bind-decisions.resource.js';
import { CredentialUsage } from './credential-usage.js';

/** A separate route, since an SSH credential has exactly the fields of the public API. */
@ApiTag('SSH credentials', 'sshcr')
@Controller('ssh_credentials')
export class CredentialUsageController {
  constructor(
    private readonly credentials: SshCredentials,
    private readonly usage: CredentialUsage,
  ) {}

  @Get(':id/usage')
  @ApiGetPart(CredentialUsageResource, {
    id: 'getSshCredentialUsage',
    summary: 'Get when an SSH credential was last used',
    problems: ['not_found'],
  })
  async get(@Context() { caller }: RequestContext, @Param('id') id: string): Promise<CredentialUsageResource> {
    const ref = { accountId: caller.accountId, id };
    if ((await this.credentials.find(ref)) === undefined) throw notFound();
    return { id, last_used_at: await this.usage.lastUsedAt(ref) };
  }
}
