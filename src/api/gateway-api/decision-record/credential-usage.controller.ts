import { Controller, Get, Param } from '@nestjs/common';
import { ApiGetPart, ApiTag } from '../../http/openapi/decorators.js';
import { Read, type ReadRequest } from '../../http/request-context.js';
import { mayReadPrivate } from '../../resources/access-rules.js';
import { EntityQueries } from '../../resources/entity-queries.js';
import { SSH_CREDENTIALS } from '../../ssh-credentials/ssh-credentials.resource.js';
import { CredentialUsageResource } from './bind-decisions.resource.js';
import { CredentialUsage } from './credential-usage.js';

/** A separate route, since an SSH credential has exactly the fields of the public API. */
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
    const ref = { accountId: caller.accountId, id };
    const credential = await this.entities.find(SSH_CREDENTIALS, ref);
    if (credential === undefined) throw SSH_CREDENTIALS.notFound();
    const used = { id, last_used_at: await this.usage.lastUsedAt(ref) };
    // As with sessions: other members do not see who is there.
    if (!mayReadPrivate(caller, credential)) return { ...used, online: null, last_seen_at: null };
    const { online = false, last_seen_at: seenAt } = (await this.usage.presence(ref)) ?? {};
    return { ...used, online, last_seen_at: seenAt?.toISOString() ?? null };
  }
}
