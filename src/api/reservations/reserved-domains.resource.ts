import type { Entity } from '../../event-log/index.js';
import { malformed } from '../../kernel/problem.js';
import { ApiField, ApiSchemaName } from '../http/openapi/decorators.js';

import { Anything, Text } from '../http/validated-body.js';
import {
  Description,
  describedIn,
  describedResource,
  Envelope,
  Metadata,
  READ_ONLY,
  textFields,
} from '../resources/fields.js';
import type { ResourceDescriptor } from '../resources/resource-descriptor.js';
import { type ReservedDomain, type ReservedDomainEvent, reservedDomainNotFound } from './reserved-domain.js';
import { reservedDomainsReadModel } from './reserved-domains.read-model.js';

const PATH = 'reserved_domains';
const TEXTS = textFields('The shop', '{"team":"sales"}');
const DOMAIN = {
  description: 'A name of two labels or more, in canonical form, or `*.` and such a name for all names under it.',
  example: 'app.example.com',
};
const REGION = { description: 'As it was given; may be empty.', example: '' };
const NONE = {
  description: 'Always null: the service issues no certificates and serves no DNS.',
  type: 'object' as const,
  nullable: true,
  example: null,
};
const NO_NAME = { ...NONE, type: 'string' as const };
const IGNORED = { description: 'Only null: the service issues no certificates and serves no DNS.' };

/** What the official clients know of domains, and this service does not have. */
class WithoutCertificates extends Envelope {
  @Anything(IGNORED) certificate_id?: unknown;
  @Anything(IGNORED) certificate_management_policy?: unknown;
  @Anything(IGNORED) certificate?: unknown;
  @Anything(IGNORED) certificate_management_status?: unknown;
  @Anything(IGNORED) cname_target?: unknown;
  @Anything(IGNORED) acme_challenge_cname_target?: unknown;
  @Anything(IGNORED) resolves_to?: unknown;
}

export class CreateReservedDomainBody extends WithoutCertificates {
  @Description('request_malformed', TEXTS.description) description?: string;
  @Metadata('request_malformed', TEXTS.metadata) metadata?: string;
  @Text({ ...DOMAIN, required: true }) domain?: string;
  @Text(REGION) region?: string;
}

export class UpdateReservedDomainBody extends WithoutCertificates {
  @Description('request_malformed', TEXTS.description) description?: string;
  @Metadata('request_malformed', TEXTS.metadata) metadata?: string;
  @Text(READ_ONLY) domain?: string;
  @Text(READ_ONLY) region?: string;
}

/** A caller that asks for a certificate must not believe that it has one. An empty text asks for none. Throws Problem. */
export function refuseCertificates(body: WithoutCertificates): void {
  for (const field of Object.keys(NOTHING) as (keyof typeof NOTHING)[]) {
    if (body[field] === undefined || body[field] === '') continue;
    throw malformed(`${field} cannot be set: the service issues no certificates and serves no DNS. Leave it out.`);
  }
}

const NOTHING = {
  certificate_id: null,
  certificate: null,
  certificate_management_policy: null,
  certificate_management_status: null,
  cname_target: null,
  acme_challenge_cname_target: null,
  resolves_to: null,
};

@ApiSchemaName('ReservedDomain')
export class ReservedDomainResource extends describedResource(PATH, 'rd', TEXTS) {
  @ApiField(DOMAIN) domain!: string;
  @ApiField(REGION) region!: string;
  @ApiField(NO_NAME) cname_target!: null;
  @ApiField(NONE) certificate!: null;
  @ApiField(NONE) certificate_management_policy!: null;
  @ApiField(NONE) certificate_management_status!: null;
  @ApiField(NO_NAME) acme_challenge_cname_target!: null;
  @ApiField(NONE) resolves_to!: null;
}

export const RESERVED_DOMAINS: ResourceDescriptor<ReservedDomain, ReservedDomainEvent> = {
  model: reservedDomainsReadModel,
  idPrefix: 'rd',
  path: PATH,
  readOnlyFields: ['domain', 'region'],
  notFound: reservedDomainNotFound,
  toResource: (entity: Entity<ReservedDomain>, baseUrl): ReservedDomainResource => {
    const { certificate_id: _, ...none } = NOTHING;
    return { ...describedIn(entity, baseUrl, PATH), domain: entity.domain, region: entity.region, ...none };
  },
};
