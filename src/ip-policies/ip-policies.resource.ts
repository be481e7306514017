import { ApiField, ApiSchemaName } from '../http/openapi/decorators.js';
import type { Entity } from '../log/read-model.js';
import { Description, Envelope, envelopeFields, Metadata, textFields } from '../resources/fields.js';
import { CreateCommand, DeleteCommand, type Resource, UpdateCommand } from '../resources/resource.js';
import { ipPoliciesReadModel } from './ip-policies.read-model.js';
import { type IpPolicy, type IpPolicyEvent, notFound } from './ip-policy.js';

const PATH = 'ip_policies';
const ENVELOPE = envelopeFields(PATH, 'ipp');
const TEXTS = textFields('Our offices', '{"team":"infrastructure"}');

export class CreateIpPolicyBody extends Envelope {
  @Description('request_malformed', TEXTS.description) description?: string;
  @Metadata('request_malformed', TEXTS.metadata) metadata?: string;
}

export class UpdateIpPolicyBody extends CreateIpPolicyBody {}

export class CreateIpPolicy extends CreateCommand<CreateIpPolicyBody> {}
export class UpdateIpPolicy extends UpdateCommand<UpdateIpPolicyBody> {}
export class DeleteIpPolicy extends DeleteCommand {}

@ApiSchemaName('IpPolicy')
export class IpPolicyResource {
  @ApiField(ENVELOPE.id) id!: string;
  @ApiField(ENVELOPE.uri) uri!: string;
  @ApiField(ENVELOPE.created_at) created_at!: string;
  @ApiField(TEXTS.description) description!: string;
  @ApiField(TEXTS.metadata) metadata!: string;
}

export const IP_POLICIES: Resource<IpPolicy, IpPolicyEvent> = {
  model: ipPoliciesReadModel,
  idPrefix: 'ipp',
  path: PATH,
  notFound,
  toResource,
};

function toResource({ id, created_at, description, metadata }: Entity<IpPolicy>, baseUrl: string): IpPolicyResource {
  return { id, uri: `${baseUrl}/${PATH}/${id}`, created_at: created_at.toISOString(), description, metadata };
}
