import { malformed } from '../../kernel/problem.js';
import { parseCidrs } from '../../rules/index.js';
import { ApiField, ApiSchemaName } from '../http/openapi/decorators.js';
import { List } from '../http/validated-body.js';
import { expiryRoutes } from '../resources/expiry/expiry.resource.js';
import { partControllerOf } from '../resources/routes/part-routes.js';
import {
  RestrictSshCredentialSources,
  SetSshCredentialExpiry,
  SOURCE_CIDRS,
  SSH_CREDENTIALS,
} from './ssh-credentials.resource.js';

class PutSourceRestrictionBody {
  @List({ ...SOURCE_CIDRS, required: true }) cidrs?: unknown[];
}

@ApiSchemaName('SourceRestriction')
class SourceRestrictionResource {
  @ApiField({ ...SOURCE_CIDRS, type: 'array', description: 'Networks that tunnels may come from, in canonical form.' })
  cidrs!: readonly string[];
}

/** When and from where a credential works. */
const RESTRICTION = {
  tag: 'SSH credentials',
  problems: { put: ['role_missing', 'not_found'], remove: ['role_missing', 'not_found'] },
} as const;

export const CredentialExpiryController = partControllerOf(SSH_CREDENTIALS, {
  ...RESTRICTION,
  ...expiryRoutes('SSH credential', SetSshCredentialExpiry),
  name: 'SshCredentialExpiry',
  summaries: [
    'Set when an SSH credential expires',
    'Get when an SSH credential expires',
    'Let an SSH credential never expire',
  ],
  description: 'A time in the past takes effect at once.',
});

export const CredentialSourcesController = partControllerOf(SSH_CREDENTIALS, {
  ...RESTRICTION,
  name: 'SshCredentialSourceRestriction',
  path: 'source_restriction',
  summaries: [
    'Set where tunnels of an SSH credential may come from',
    'Get where tunnels of an SSH credential may come from',
    'Let tunnels of an SSH credential come from anywhere',
  ],
  answer: SourceRestrictionResource,
  body: PutSourceRestrictionBody,
  shown: ({ source_cidrs: cidrs }) => cidrs && { cidrs },
  absent: 'The SSH credential has no source restriction.',
  set: (context, id, { cidrs }) => {
    if (cidrs === undefined)
      throw malformed('cidrs is missing; send 1 or more networks. DELETE removes the restriction.');
    return new RestrictSshCredentialSources(context, id, { source_cidrs: parseCidrs(cidrs, 'cidrs') });
  },
  remove: (context, id) => new RestrictSshCredentialSources(context, id, { source_cidrs: null }),
});
