import { Controller, Get } from '@nestjs/common';
import { isId } from '../../../kernel/ids.js';
import { malformed, quoted } from '../../../kernel/problem.js';
import { ApiList, ApiTag } from '../../http/openapi/decorators.js';
import { queryParameter } from '../../http/openapi/parts.js';
import { lastOf, pageOf, readPageRequest } from '../../http/pages.js';
import { Read, type ReadRequest } from '../../http/request-context.js';
import { refuseUnlessReadsEverything } from '../../resources/access-rules.js';
import { GATEWAY_NAME } from './bind-decision-fields.js';
import { BindDecisions } from './bind-decisions.js';
import { BIND_DECISIONS_PATH, BindDecisionResource, toResource } from './bind-decisions.resource.js';

const CREDENTIAL_ID = queryParameter(
  'credential_id',
  'Only decisions that name this SSH credential. It may be deleted.',
  { type: 'string' },
);

const GATEWAY = queryParameter('gateway_name', 'Only decisions of the gateway with this name.', {
  type: 'string',
  pattern: `${GATEWAY_NAME.pattern}|^$`,
});

/** The decisions about the account's keys. They show who tunnels from where, so members may not read them. */
@ApiTag('Bind decisions', 'bd')
@Controller(BIND_DECISIONS_PATH)
export class BindDecisionsController {
  constructor(private readonly decisions: BindDecisions) {}

  @Get()
  @ApiList(BindDecisionResource, BIND_DECISIONS_PATH, {
    id: 'listBindDecisions',
    summary: 'List bind decisions',
    description:
      "Decisions about the account's keys, for admins and auditors. A decision is listed shortly after it was made, and is kept as long as the operator configured.",
    problems: ['role_missing', 'request_malformed'],
    parameters: [CREDENTIAL_ID, GATEWAY],
    refusesUnknownParameters: true,
  })
  async list(@Read() { caller, baseUrl, query, signal }: ReadRequest) {
    refuseUnlessReadsEverything(caller, 'bind decisions');
    const page = readPageRequest(query, 'bd');
    const wanted = {
      credential_id: readCredentialId(query.credential_id),
      gateway_name: readGatewayName(query.gateway_name),
    };
    const found = await this.decisions.list({ accountId: caller.accountId, signal }, page, wanted);
    return pageOf(BIND_DECISIONS_PATH, `${baseUrl}/${BIND_DECISIONS_PATH}`, page, found, toResource, wanted);
  }
}

function readCredentialId(value: unknown): string | undefined {
  const id = lastOf(value);
  if (id === undefined || isId(id, 'sshcr')) return id;
  throw malformed(`credential_id ${quoted(id)} is not the id of an SSH credential.`);
}

function readGatewayName(value: unknown): string | undefined {
  const name = lastOf(value);
  if (name === undefined || new RegExp(GATEWAY_NAME.pattern).test(name)) return name;
  throw malformed(`gateway_name ${quoted(name)} is not a name: 1 to 32 of a-z, 0-9 and -.`);
}
