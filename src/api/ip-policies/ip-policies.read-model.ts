import { entityTable, type ReadModel } from '../../event-log/index.js';
import { type IpPolicy, type IpPolicyEvent, ipPolicy } from './ip-policy.js';

export const ipPoliciesReadModel: ReadModel<IpPolicy, IpPolicyEvent> = {
  streamPrefixes: ['ipp'],
  events: {
    'ip_policy_created.v1': { isStart: true },
    'ip_policy_updated.v1': {},
    'ip_policy_deleted.v1': { isEnd: true },
  },
  evolve: ipPolicy.evolve,
  tables: [entityTable<IpPolicy>('ip_policies', ['description', 'metadata'])],
};
