import { ApiSchemaName } from '../http/openapi/decorators.js';
import { Description, describedIn, describedResource, Envelope, Metadata, textFields } from '../resources/fields.js';
import type { ResourceDescriptor } from '../resources/resource-descriptor.js';
import { ipPoliciesReadModel } from './ip-policies.read-model.js';
import { type IpPolicy, type IpPolicyEvent, ipPolicyNotFound } from './ip-policy.js';

const PATH = 'ip_policies';
const TEXTS = textFields('Our offices', '{"team":"infrastructure"}');

export class CreateIpPolicyBody extends Envelope {
  @Description('request_malformed', TEXTS.description) description?: string;
  @Metadata('request_malformed', TEXTS.metadata) metadata?: string;
}

export class UpdateIpPolicyBody extends CreateIpPolicyBody {}

@ApiSchemaName('IpPolicy')
export class IpPolicyResource extends describedResource(PATH, 'ipp', TEXTS) {}

export const IP_POLICIES: ResourceDescriptor<IpPolicy, IpPolicyEvent> = {
  model: ipPoliciesReadModel,
  idPrefix: 'ipp',
  path: PATH,
  notFound: ipPolicyNotFound,
  toResource: (policy, baseUrl) => describedIn(policy, baseUrl, PATH),
};
