import { MAX_ACL_BYTES, MAX_RULES } from '../bind-rules/acl.js';
import { MAX_RULE_BYTES } from '../bind-rules/bind-rule.js';
import { ApiField, ApiSchemaName } from '../http/openapi/decorators.js';
import { CREATED_AT, idField, uriField } from '../http/openapi/parts.js';
import { atMostBytes, List, Text, TextOfBytes } from '../http/validated-body.js';
import type { Entity } from '../log/read-model.js';
import { MAX_PUBLIC_KEY_BYTES } from '../public-keys/public-key.js';
import { type Logs, ResourceReads } from '../resources/resource.js';
import { notFound, type SshCredential } from './ssh-credential.js';
import { type SshCredentials, sshCredentialsReadModel } from './ssh-credentials.read-model.js';

export const PATH = 'ssh_credentials';
const MAX_DESCRIPTION_BYTES = 255;
const MAX_METADATA_BYTES = 4096;

const DESCRIPTION = { description: 'What it is, for people.', example: "Ada's laptop" };
const METADATA = { description: 'Anything, for programs.', example: '{"team":"infrastructure"}' };
const PUBLIC_KEY = {
  ...atMostBytes(
    MAX_PUBLIC_KEY_BYTES,
    'An SSH public key: an OpenSSH line (a `.pub` file), RFC 4716, or PEM. Kept byte for byte.',
  ),
  example: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB4d3XkgzFyHVGZ+LFUBdyDlGX+5Hh7hXIJO6X+fTPvs ada@example.com',
};
const ACL = {
  description:
    'What a holder of the key may bind, as rules such as `bind:app.example.com`; everything when there is none. ' +
    `Order and spelling are kept. At most ${MAX_RULES} rules of ${MAX_RULE_BYTES} bytes each, ${MAX_ACL_BYTES} bytes in all.`,
  maxItems: MAX_RULES,
  items: { type: 'string', maxLength: MAX_RULE_BYTES, 'x-max-bytes': MAX_RULE_BYTES },
  example: ['bind:app.example.com', 'bind:*.dev.example.com:443'],
};
const OWNER_ID = {
  description:
    'Whose credential it is: 1 to 128 characters of `A-Z a-z 0-9 _ -`, the caller when empty or absent. ' +
    'Only admins may name somebody else; an id that the account does not know is taken as it is.',
  maxLength: 128,
  pattern: '^[A-Za-z0-9_-]*$',
};
const UNCHANGED = 'Taken only as it is.';

export class CreateSshCredentialBody {
  @Text({ ...PUBLIC_KEY, required: true }) public_key?: string;
  @TextOfBytes(MAX_DESCRIPTION_BYTES, 'ssh_credential_description_too_long', DESCRIPTION) description?: string;
  @TextOfBytes(MAX_METADATA_BYTES, 'ssh_credential_metadata_too_long', METADATA) metadata?: string;
  @List(ACL) acl?: unknown[];
  @Text(OWNER_ID) owner_id?: string;
}

/** `id`, `uri`, `created_at`, `public_key` and `owner_id` are taken when unchanged, so that a GET, edited, can be sent back. */
export class UpdateSshCredentialBody {
  @TextOfBytes(MAX_DESCRIPTION_BYTES, 'ssh_credential_description_too_long', DESCRIPTION) description?: string;
  @TextOfBytes(MAX_METADATA_BYTES, 'ssh_credential_metadata_too_long', METADATA) metadata?: string;
  @List(ACL) acl?: unknown[];
  @Text({ description: UNCHANGED }) public_key?: string;
  @Text({ description: UNCHANGED }) owner_id?: string;
  @Text({ description: UNCHANGED }) id?: string;
  @Text({ description: UNCHANGED }) uri?: string;
  @Text({ description: UNCHANGED }) created_at?: string;
}

@ApiSchemaName('SshCredential')
export class SshCredentialResource {
  @ApiField(idField('sshcr')) id!: string;
  @ApiField(uriField(PATH, 'sshcr')) uri!: string;
  @ApiField(CREATED_AT) created_at!: string;
  @ApiField(DESCRIPTION) description!: string;
  @ApiField(METADATA) metadata!: string;
  @ApiField(PUBLIC_KEY) public_key!: string;
  @ApiField({ ...ACL, type: 'array' }) acl!: readonly string[];
  @ApiField({ ...OWNER_ID, description: 'Whose credential it is.', example: 'usr_3MSH1YH1pfqRL0tXy3dC8OFwmhq' })
  owner_id!: string;
}

/** The one rendering for create, get, list and update: every field always, never null (several clients break otherwise). */
export const toResource = (
  { id, createdAt, state }: Entity<SshCredential>,
  baseUrl: string,
): SshCredentialResource => ({
  id,
  uri: `${baseUrl}/${PATH}/${id}`,
  created_at: createdAt.toISOString(),
  description: state.description,
  metadata: state.metadata,
  public_key: state.publicKey,
  acl: state.acl,
  owner_id: state.ownerId,
});

/** Their GETs. */
export const sshCredentialReads = (credentials: SshCredentials, logs: Logs) =>
  new ResourceReads(
    {
      model: sshCredentialsReadModel,
      idPrefix: 'sshcr',
      path: PATH,
      plural: PATH,
      queries: credentials,
      ownerOf: ({ ownerId }) => ownerId,
      notFound,
      toResource,
    },
    logs,
  );
