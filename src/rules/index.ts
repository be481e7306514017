/** The door of the rules: what code outside may use of them. Each name has its sentence where it is defined. */

// What may be bound
export {
  type CompiledAcl,
  compile,
  MAX_ACL_BYTES,
  MAX_RULES,
  parseAcl,
  permits,
} from './bind-rules/acl.js';
export { type BindRule, MAX_RULE_BYTES, parseBindRule } from './bind-rules/bind-rule.js';
export { type BindTarget, MAX_ALIASES, parseBindTarget, parseTargetText } from './bind-rules/bind-target.js';
export { OverlappingNames } from './bind-rules/overlapping-names.js';
export { ruleFor } from './bind-rules/rule-for-target.js';
export { compileNetworks, contains, MAX_CIDRS, parseCidrs } from './bind-rules/source-networks.js';
// Edges
export {
  admitClient,
  type EdgeAdmission,
  type IpPolicies,
  MAX_IP_POLICIES,
  MAX_IP_RULES,
} from './edge-admission.js';
// Host names and ports
export {
  canonicalHost,
  canonicalName,
  MAX_NAME_OCTETS,
  ParseError,
  PortOutOfRange,
  parsePort,
  splitPort,
} from './host-name.js';
// Addresses and networks
export { type Address, addressText, parseAddress, parseSource } from './ip-rules/address.js';
export { compilePolicy, type IpRule } from './ip-rules/ip-policy.js';
export {
  IP_REASONS,
  type IpDecision,
  type IpReason,
  type IpRestriction,
} from './ip-rules/ip-restriction.js';
export { type Network, networksContaining, networksIn, parseCidr } from './ip-rules/network.js';
export { aliasesOf, type OwnedHost } from './ip-rules/owned-hosts.js';
export { sourceOf } from './ip-rules/source.js';

// Public keys
export { type KeyPolicy, type PublicKey, parseDeniedFingerprints, parsePublicKey } from './public-keys/public-key.js';
export { MAX_PUBLIC_KEY_BYTES, readFingerprint } from './public-keys/public-key-type.js';
export { WireFields } from './public-keys/public-key-wire.js';
// Traffic policies
export { MAX_LOG_BYTES } from './traffic-policy/actions.js';
export { namedBy, PolicyReader, type PolicyReading } from './traffic-policy/policy-reader.js';
export { MAX_READ_POLICY_BYTES } from './traffic-policy/policy-text.js';
export {
  decideTcpConnect,
  type TcpConnection,
  TRAFFIC_REASONS,
  type TrafficDecision,
  type TrafficReason,
} from './traffic-policy/tcp-connect.js';
export { inZone, timeZone } from './traffic-policy/time-fields.js';
export { UnreadablePolicy } from './traffic-policy/unreadable-policy.js';
// Names below the operator's domain
export { parseTunnelDomain, TunnelDomain } from './tunnel-domain.js';
