import type { Entity } from '../../event-log/index.js';
import { MAX_ACL_BYTES, MAX_CIDRS, MAX_PUBLIC_KEY_BYTES, MAX_RULE_BYTES, MAX_RULES } from '../../rules/index.js';
import { ApiField, ApiSchemaName } from '../http/openapi/decorators.js';
import { AS_OF, queryParameter } from '../http/openapi/parts.js';
import { atMostBytes, List, Text } from '../http/validated-body.js';
import { EXPIRES_AT } from '../resources/expiry/expiry.resource.js';
import {
  Description,
  describedIn,
  describedResource,
  Envelope,
  Metadata,
  READ_ONLY,
  ReadOnly,
  textFields,
} from '../resources/fields.js';
import type { OwnedResourceDescriptor } from '../resources/resource-descriptor.js';
import { SshCredentialUsage } from './credential-usage.resource.js';
import { REMOVAL, type SshCredential, type SshCredentialEvent, sshCredentialNotFound } from './ssh-credential.js';
import { FILTERS, SCANS, sshCredentialsReadModel } from './ssh-credentials.read-model.js';

const PATH = 'ssh_credentials';
const TEXTS = textFields("Ada's laptop", '{"team":"infrastructure"}');
export const PUBLIC_KEY = {
  ...atMostBytes(
    MAX_PUBLIC_KEY_BYTES,
    'An SSH public key: an OpenSSH line (a `.pub` file), RFC 4716, or PEM. Kept byte for byte.',
  ),
  example: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB4d3XkgzFyHVGZ+LFUBdyDlGX+5Hh7hXIJO6X+fTPvs ada@example.com',
};
export const ACL = {
  description:
    'Rules for what a holder of the key may bind, such as `bind:app.example.com`. An empty list permits everything. ' +
    `Order and spelling are kept. At most ${MAX_RULES} rules of ${MAX_RULE_BYTES} bytes each, ${MAX_ACL_BYTES} bytes in all.`,
  maxItems: MAX_RULES,
  items: { type: 'string', maxLength: MAX_RULE_BYTES, 'x-max-bytes': MAX_RULE_BYTES },
  example: ['bind:app.example.com', 'bind:*.dev.example.com:443'],
};
const OWNER_ID = {
  description:
    'Owner of the credential: 1 to 128 characters of `A-Z a-z 0-9 _ -`. Empty or absent: the caller. ' +
    'Only admins may name another owner. An id that the account does not know is stored as given.',
  maxLength: 128,
  pattern: '^[A-Za-z0-9_-]*$',
};
export const SOURCE_CIDRS = {
  description: `Networks and addresses that tunnels may come from, 1 to ${MAX_CIDRS} of them. An IPv4-mapped IPv6 address counts as IPv4.`,
  minItems: 1,
  maxItems: MAX_CIDRS,
  items: { type: 'string' },
  example: ['192.0.2.0/24', '2001:db8::/32'],
};

export const FINGERPRINT = {
  description: 'Fingerprint of the key: `SHA256:` and unpadded base64, as `ssh-keygen -l` prints it.',
  example: 'SHA256:UNhY4JhezH9gQYqvDMWrWH9CwlcKiECVqejMrND2VFw',
};

/** What a body cannot hold. */
const FROM_INCLUDE = 'GET shows it by `include` alone; leave it out';
const INCLUDED = { fingerprint: FROM_INCLUDE, usage: FROM_INCLUDE };

export class CreateSshCredentialBody extends Envelope {
  static readonly elsewhere = INCLUDED;
  @Text({ ...PUBLIC_KEY, required: true }) public_key?: string;
  @Description('ssh_credential_description_too_long', TEXTS.description) description?: string;
  @Metadata('ssh_credential_metadata_too_long', TEXTS.metadata) metadata?: string;
  @List(ACL) acl?: unknown[];
  @Text(OWNER_ID) owner_id?: string;
  @Text({
    ...EXPIRES_AT,
    description: `${EXPIRES_AT.description} Absent or null: never.`,
  })
  expires_at?: string;
  @List({
    ...SOURCE_CIDRS,
    description: `${SOURCE_CIDRS.description} Absent or null: from anywhere.`,
  })
  source_cidrs?: unknown[];
}

export class UpdateSshCredentialBody extends Envelope {
  static readonly elsewhere = INCLUDED;
  @Description('ssh_credential_description_too_long', TEXTS.description) description?: string;
  @Metadata('ssh_credential_metadata_too_long', TEXTS.metadata) metadata?: string;
  @List(ACL) acl?: unknown[];
  @ReadOnly() public_key?: string;
  @ReadOnly() owner_id?: string;
  @ReadOnly() expires_at?: string;
  @List({ ...READ_ONLY, items: { type: 'string' } }) source_cidrs?: unknown[];
}

@ApiSchemaName('SshCredential')
export class SshCredentialResource extends describedResource(PATH, 'sshcr', TEXTS) {
  @ApiField(PUBLIC_KEY) public_key!: string;
  @ApiField({ ...ACL, type: 'array' }) acl!: readonly string[];
  @ApiField({ ...OWNER_ID, description: 'Owner of the credential.', example: 'usr_3MSH1YH1pfqRL0tXy3dC8OFwmhq' })
  owner_id!: string;
  @ApiField({ ...EXPIRES_AT, required: false, description: `${EXPIRES_AT.description} Absent: never.` })
  expires_at?: string;
  @ApiField({
    ...SOURCE_CIDRS,
    type: 'array',
    required: false,
    description: 'Networks that tunnels may come from, in canonical form. Absent: from anywhere.',
  })
  source_cidrs?: readonly string[];
  @ApiField({
    ...FINGERPRINT,
    required: false,
    description: `Only with \`include=fingerprint\`. ${FINGERPRINT.description}`,
  })
  fingerprint?: string;
  @ApiField({ description: 'Only with `include=usage`.', type: SshCredentialUsage, required: false })
  usage?: SshCredentialUsage;
}

/** The query parameters of the list. Its filters are in the read model. */
export const LIST_PARAMETERS = [
  queryParameter(
    'fingerprint',
    'Only credentials of the key with this fingerprint, as `ssh-keygen -l` and the logs of sshd print it. ' +
      'Its `+` and `/` are to be percent-encoded; a blank counts as `+`.',
    { type: 'string', examples: ['SHA256:UNhY4JhezH9gQYqvDMWrWH9CwlcKiECVqejMrND2VFw'] },
  ),
  queryParameter('owner_id', 'Only credentials of this owner.', { type: 'string', examples: ['bot_deploy'] }),
  queryParameter(
    'expiring_before',
    'Only credentials that expire before this RFC 3339 time. Those that have expired already are among them.',
    { type: 'string', format: 'date-time' },
  ),
  queryParameter(
    'online',
    'Only credentials with an open tunnel session, or only those without one. Not with `as_of`; members select among their own.',
    { type: 'boolean' },
  ),
  queryParameter(
    'last_seen_before',
    'Only credentials without an open session that were last seen before this RFC 3339 time, or never. Not with `as_of`; ' +
      'members select among their own.',
    { type: 'string', format: 'date-time' },
  ),
  queryParameter(
    'text',
    'Only credentials with this text in their description or metadata. A page reads 10,000 credentials at most: it may be ' +
      'empty and have a next page.',
    { type: 'string', examples: ['camera'] },
  ),
  queryParameter(
    'permits',
    'Only credentials whose rules permit this target: a domain, `host:port` or `key=value`. Pages are as with `text`.',
    { type: 'string', examples: ['app.example.com:443'] },
  ),
  AS_OF,
];

export const SSH_CREDENTIALS: OwnedResourceDescriptor<SshCredential, SshCredentialEvent> = {
  model: sshCredentialsReadModel,
  idPrefix: 'sshcr',
  path: PATH,
  readOnlyFields: ['public_key', 'owner_id', 'expires_at', 'source_cidrs'],
  elsewhere: {
    expires_at: 'PUT /ssh_credentials/{id}/expiry',
    source_cidrs: 'PUT /ssh_credentials/{id}/source_restriction',
  },
  removal: REMOVAL,
  filters: FILTERS,
  scans: SCANS,
  notFound: sshCredentialNotFound,
  toResource,
  partsOf: ({ expires_at, source_cidrs, rotated_from, rotated_to, device_name, enrolled_by, replaces }) => ({
    expires_at: expires_at?.toISOString() ?? null,
    source_restriction: source_cidrs ? { cidrs: source_cidrs } : null,
    // Both credentials of a rotation name the other.
    rotated_from,
    rotated_to,
    device_name: device_name ?? undefined,
    enrolled_by,
    replaces,
    // The history has it once.
    source_cidrs: null,
  }),
};

/**
 * The one rendering for create, get, list and update. Every field of the public API is there, never null: several
 * clients break otherwise.
 */
function toResource(credential: Entity<SshCredential>, baseUrl: string): SshCredentialResource {
  const { public_key, acl, owner_id, expires_at, source_cidrs } = credential;
  return {
    ...describedIn(credential, baseUrl, PATH),
    ...{ public_key, acl, owner_id },
    ...(expires_at && { expires_at: expires_at.toISOString() }),
    ...(source_cidrs && { source_cidrs }),
  };
}
