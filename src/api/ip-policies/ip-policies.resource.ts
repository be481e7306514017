import { ApiSchemaName } from '../http/openapi/decorators.js';
import { Description, describedIn, describedResource, Envelope, Metadata, textFields } from '../resources/fields.js';
import type { Resource } from '../resources/resource.js';
import { ipPoliciesReadModel } from './ip-policies.read-model.js';
import { type IpPolicy, type IpPolicyEvent, notFound } from './ip-policy.js';

export const PATH = 'ip_policies';
const TEXTS = textFields('Our offices', '{"team":"infrastructure"}');

export class CreateIpPolicyBody extends Envelope {
  @Description('request_malformed', TEXTS.description) description?: string;
  @Metadata('request_malformed', TEXTS.metadata) metadata?: string;
}

export class UpdateIpPolicyBody extends CreateIpPolicyBody {}

@ApiSchemaName('IpPolicy')
export class IpPolicyResource extends describedResource(PATH, 'ipp', TEXTS) {}

export const IP_POLICIES: Resource<IpPolicy, IpPolicyEvent> = {
  model: ipPoliciesReadModel,
  idPrefix: 'ipp',
  path: PATH,
  notFound,
  toResource: (policy, baseUrl) => describedIn(policy, baseUrl, PATH),
};
