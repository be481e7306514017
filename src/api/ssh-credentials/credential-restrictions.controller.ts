import { malformed } from '../../kernel/problem.js';
import { parseCidrs } from '../../rules/index.js';
import { ApiField, ApiSchemaName } from '../http/openapi/decorators.js';
import { List } from '../http/validated-body.js';
import { parseExpiry } from '../resources/expiry/expiry.js';
import { ExpiryResource, PutExpiryBody, toExpiry } from '../resources/expiry/expiry.resource.js';
import { partController } from '../resources/part-controller.js';
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

/** When a credential works. */
export const CredentialExpiryController = partController({
  of: SSH_CREDENTIALS,
  tag: 'SSH credentials',
  path: 'expiry',
  name: 'SshCredentialExpiry',
  what: 'when an SSH credential expires',
  put: { description: 'A time in the past is refused.', problems: ACCESS_PROBLEMS },
  get: { problems: ['not_found'] },
  delete: { summary: 'Let an SSH credential never expire', problems: ACCESS_PROBLEMS },
  body: PutExpiryBody,
  resource: ExpiryResource,
  show: toExpiry,
  absent: 'The SSH credential has no expiry.',
  change: (context, id, body) =>
    new SetSshCredentialExpiry(context, id, { expires_at: body ? parseExpiry(body.expires_at) : null }),
});

/** From where a credential works. */
export const CredentialSourcesController = partController({
  of: SSH_CREDENTIALS,
  tag: 'SSH credentials',
  path: 'source_restriction',
  name: 'SshCredentialSourceRestriction',
  what: 'where tunnels of an SSH credential may come from',
  put: { problems: ACCESS_PROBLEMS },
  get: { problems: ['not_found'] },
  delete: { summary: 'Let tunnels of an SSH credential come from anywhere', problems: ACCESS_PROBLEMS },
  body: PutSourceRestrictionBody,
  resource: SourceRestrictionResource,
  show: ({ source_cidrs: cidrs }) => cidrs && { cidrs },
  absent: 'The SSH credential has no source restriction.',
  change: (context, id, body) =>
    new RestrictSshCredentialSources(context, id, { source_cidrs: body ? parseSources(body) : null }),
});

function parseSources({ cidrs }: PutSourceRestrictionBody): readonly string[] {
  if (cidrs !== undefined) return parseCidrs(cidrs, 'cidrs');
  throw malformed('cidrs is missing; send 1 or more networks. DELETE removes the restriction.');
}
