import { Controller, Get } from '@nestjs/common';
import { isId } from '../../../kernel/ids.js';
import { malformed, quoted } from '../../../kernel/problem.js';
import { ApiList, ApiTag } from '../../http/openapi/decorators.js';
import { queryParameter } from '../../http/openapi/parts.js';
import { lastOf, pageOf, readPageRequest, uriWith } from '../../http/pages.js';
import { Read, type ReadRequest } from '../../http/request-context.js';
import { refuseUnlessReadsEverything, requireWellFormedId } from '../../resources/access-rules.js';
import { REASONS } from '../decisions/bind-decision.js';
import { GATEWAY_NAME } from './bind-decision-fields.js';
import { BindDecisions } from './bind-decisions.js';
import { BIND_DECISIONS_PATH, BindDecisionResource, toResource } from './bind-decisions.resource.js';
import { boundsOf, readTime, timeParameter } from './time-bounds.js';

const CREDENTIAL_ID = queryParameter(
  'credential_id',
  'Only decisions that name this SSH credential. It may be deleted.',
  { type: 'string' },
);

const GATEWAY = queryParameter('gateway_name', 'Only decisions of the gateway with this name.', {
  type: 'string',
  pattern: `${GATEWAY_NAME.pattern}|^$`,
});

const FILTERS = [
  CREDENTIAL_ID,
  GATEWAY,
  timeParameter('since', 'Only decisions made at or after this time.'),
  timeParameter('until', 'Only decisions made before this time.'),
  queryParameter('allowed', 'Only permissions, or only refusals.', { type: 'boolean' }),
  queryParameter('reason', 'Only decisions with this reason.', { type: 'string', enum: [...REASONS] }),
  queryParameter('owner_id', 'Only decisions about credentials of this owner.', { type: 'string' }),
  queryParameter('target', 'Only this target, exactly: a host name, `host:port`, or `key=value` of a label.', {
    type: 'string',
    examples: ['app.example.com'],
  }),
];

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
      "Decisions about the account's keys, for admins and auditors. A decision is listed shortly after it was made, and is kept as long as the operator configured. " +
      'A page reads 10,000 decisions at most: with filters it may be short or empty and still have a next one.',
    problems: ['role_missing', 'request_malformed'],
    parameters: FILTERS,
    refusesUnknownParameters: true,
  })
  async list(@Read() { caller, baseUrl, query, signal }: ReadRequest) {
    refuseUnlessReadsEverything(caller, 'bind decisions');
    const page = readPageRequest(query, 'bd');
    const filters = {
      credential_id: readCredentialId(query.credential_id),
      gateway_name: readGatewayName(query.gateway_name),
      since: readTime('since', query.since),
      until: readTime('until', query.until),
      allowed: readOneOf('allowed', query.allowed, ['true', 'false']),
      reason: readOneOf('reason', query.reason, REASONS),
      owner_id: readOwnerId(query.owner_id),
      target: lastOf(query.target),
    };
    const wanted = { ...filters, ...boundsOf('bd', filters.since, filters.until) };
    const { found, scannedTo } = await this.decisions.list({ accountId: caller.accountId, signal }, page, wanted);
    const uri = `${baseUrl}/${BIND_DECISIONS_PATH}`;
    const answer = pageOf(BIND_DECISIONS_PATH, uri, page, found, toResource, filters);
    if (scannedTo === undefined) return answer;
    return { ...answer, next_page_uri: uriWith(uri, { before_id: scannedTo, limit: page.limit, ...filters }) };
  }
}

function readCredentialId(value: unknown): string | undefined {
  const id = lastOf(value);
  if (id === undefined || isId(id, 'sshcr')) return id;
  throw malformed(`credential_id ${quoted(id)} is not the id of an SSH credential.`);
}

function readOneOf(name: string, value: unknown, known: readonly string[]): string | undefined {
  const text = lastOf(value);
  if (text === undefined || known.includes(text)) return text;
  throw malformed(`${name} ${quoted(text)} is not one of ${known.join(', ')}.`);
}

function readOwnerId(value: unknown): string | undefined {
  const id = lastOf(value);
  if (id !== undefined) requireWellFormedId('owner_id', id);
  return id;
}

function readGatewayName(value: unknown): string | undefined {
  const name = lastOf(value);
  if (name === undefined || new RegExp(GATEWAY_NAME.pattern).test(name)) return name;
  throw malformed(`gateway_name ${quoted(name)} is not a name: 1 to 32 of a-z, 0-9 and -.`);
}
