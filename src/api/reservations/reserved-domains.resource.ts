import type { Entity } from '../../event-log/index.js';
import { malformed } from '../../kernel/problem.js';
import { ApiField, ApiSchemaName } from '../http/openapi/decorators.js';
import { List, MapField, Text, TextOfBytes } from '../http/validated-body.js';
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
import { MAX_REGION_BYTES } from './address-pools.js';
import { type ReservedDomain, type ReservedDomainEvent, reservedDomainNotFound } from './reserved-domain.js';
import { reservedDomainsReadModel } from './reserved-domains.read-model.js';

const PATH = 'reserved_domains';
const TEXTS = textFields('The shop', '{"team":"sales"}');
const DOMAIN = {
  description: 'A name of two labels or more, or `*.` and such a name for all names under it. It comes back as sent.',
  example: 'app.example.com',
};
const REGION = { description: 'Any text. It comes back as sent, and means nothing here.', example: '' };
const NONE = {
  description: 'Always null: the service issues no certificates and serves no DNS.',
  type: 'object' as const,
  nullable: true,
  example: null,
};
const NO_NAME = { ...NONE, type: 'string' as const };
const REFUSED = 'Leave it out: the service issues no certificates and serves no DNS.';
const NO_TEXT = { description: `${REFUSED} An empty text is accepted.`, maxLength: 0 };
const NO_LIST = {
  description: `${REFUSED} An empty list is accepted.`,
  items: { type: 'object' },
  maxItems: 0,
  example: null,
};
const NO_OBJECT = { description: REFUSED, additionalProperties: {} };

/** What the official clients know of domains, and this service does not have. */
class WithoutCertificates extends Envelope {
  @Text(NO_TEXT) certificate_id?: string;
  @MapField(NO_OBJECT) certificate_management_policy?: object;
  @MapField(NO_OBJECT) certificate?: object;
  @MapField(NO_OBJECT) certificate_management_status?: object;
  @Text(NO_TEXT) cname_target?: string;
  @Text(NO_TEXT) acme_challenge_cname_target?: string;
  @List(NO_LIST) resolves_to?: unknown[];
}

export class CreateReservedDomainBody extends WithoutCertificates {
  @Description('request_malformed', TEXTS.description) description?: string;
  @Metadata('request_malformed', TEXTS.metadata) metadata?: string;
  @Text({ ...DOMAIN, required: true }) domain?: string;
  @TextOfBytes(MAX_REGION_BYTES, 'request_malformed', REGION) region?: string;
}

export class UpdateReservedDomainBody extends WithoutCertificates {
  @Description('request_malformed', TEXTS.description) description?: string;
  @Metadata('request_malformed', TEXTS.metadata) metadata?: string;
  @Text(READ_ONLY) domain?: string;
  @TextOfBytes(MAX_REGION_BYTES, 'request_malformed', REGION) region?: string;
}

/**
 * A caller that asks for a certificate must not believe that it has one. An empty text or list asks for none: Terraform
 * sends `"certificate_id": ""` in every update. Throws Problem.
 */
export function refuseCertificates(body: WithoutCertificates): void {
  for (const field of Object.keys(NOTHING) as (keyof typeof NOTHING)[]) {
    if (isNothing(body[field])) continue;
    throw malformed(`${field} cannot be set: the service issues no certificates and serves no DNS. Leave it out.`);
  }
}

const isNothing = (value: string | object | undefined): boolean =>
  value === undefined || value === '' || (Array.isArray(value) && value.length === 0);

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
  readOnlyFields: ['domain'],
  notFound: reservedDomainNotFound,
  toResource: (entity: Entity<ReservedDomain>, baseUrl): ReservedDomainResource => {
    const { certificate_id: _, ...none } = NOTHING;
    return { ...describedIn(entity, baseUrl, PATH), domain: entity.text, region: entity.region, ...none };
  },
};
