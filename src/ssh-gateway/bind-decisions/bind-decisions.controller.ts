import { Controller, Get } from '@nestjs/common';
import { ApiList, ApiTag } from '../../http/openapi/decorators.js';
import { queryParameter } from '../../http/openapi/parts.js';
import { lastOf, pageOf, readPageRequest } from '../../http/pages.js';
import { Read, type ReadRequest } from '../../http/request-context.js';
import { isId } from '../../ids.js';
import { Problem, quoted } from '../../problem.js';
import { refuseUnlessReadsEverything } from '../../resources/access-rules.js';
import { BindDecisions } from './bind-decisions.js';
import { BindDecisionResource, PATH, toResource } from './bind-decisions.resource.js';

const CREDENTIAL_ID = queryParameter(
  'credential_id',
  'Only decisions that name this SSH credential. It may be deleted.',
  { type: 'string' },
);

/** The decisions about the account's keys. They show who tunnels from where, so members may not read them. */
@ApiTag('Bind decisions', 'bd')
@Controller(PATH)
export class BindDecisionsController {
  constructor(private readonly decisions: BindDecisions) {}

  @Get()
  @ApiList(BindDecisionResource, PATH, {
    id: 'listBindDecisions',
    summary: 'List bind decisions',
    description:
      "Decisions about the account's keys, for admins and auditors. A decision is listed shortly after it was made, and is kept as long as the operator configured.",
    problems: ['role_missing', 'request_malformed'],
    parameters: [CREDENTIAL_ID],
  })
  async list(@Read() { caller, baseUrl, query, signal }: ReadRequest) {
    refuseUnlessReadsEverything(caller, 'bind decisions');
    const page = readPageRequest(query, 'bd');
    const credentialId = readCredentialId(query.credential_id);
    const found = await this.decisions.list({ accountId: caller.accountId, signal }, page, credentialId);
    const further = credentialId === undefined ? {} : { credential_id: credentialId };
    return pageOf(PATH, `${baseUrl}/${PATH}`, page, found, toResource, further);
  }
}

function readCredentialId(value: unknown): string | undefined {
  const id = lastOf(value);
  if (id === undefined || isId(id, 'sshcr')) return id;
  throw new Problem('request_malformed', `credential_id ${quoted(id)} is not the id of an SSH credential.`);
}
