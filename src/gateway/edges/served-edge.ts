import { createHash } from 'node:crypto';
import {
  type Address,
  compilePolicy,
  decideSource,
  type IpRestriction,
  type PolicyReading,
  type TrafficPolicy,
  UnreadablePolicy,
} from '../../rules/index.js';
import type { EdgeAnswer, ListedEdge } from './edge-answer.js';
import type { Labels } from './matching-tunnels.js';

const LEFT_OUT =
  'no edge is served: the service left out the edge that comes first, since the edges at this hostport name too many IP policies';

type CompiledPolicies = ReadonlyMap<string, ReturnType<typeof compilePolicy>>;

/** An edge that this gateway may serve. */
export interface ServedEdge {
  readonly id: string;
  readonly accountId: string;
  /** False: it lets no new client in until its first traffic policy is read. Its open connections stay. */
  readonly isOpen: boolean;
  /** The labels that a tunnel of the account must have. */
  readonly labels: Labels;
  /** `ask`: only the service can decide, since it did not send so many rules. */
  readonly letsIn: (source: Address) => boolean | 'ask';
  /** Decides about clients that the IP rules let in. Undefined: there is none, or the gateway ignores it. */
  readonly policy: ServedPolicy | undefined;
}

/** A traffic policy that is in force. */
export interface ServedPolicy {
  readonly policy: TrafficPolicy;
  /** The IP policies that exist, of those that it names. */
  readonly ipPolicies: CompiledPolicies;
  /** Only the service can decide, since it did not send all rules of these IP policies. */
  readonly isAsked: boolean;
}

/** The text of the traffic policy of an edge. */
export interface PolicyText {
  readonly accountId: string;
  readonly text: string;
  /** Stands for the text where that need not be held. */
  readonly digest: string;
}

/** A text that must be read, with what to serve then. */
export interface UnreadText extends PolicyText {
  readonly judge: (reading: PolicyReading) => Judgement;
}

/** The decision what to serve at a hostport. */
export interface Judgement {
  /** Undefined: the hostport is closed. */
  readonly served: ServedEdge | undefined;
  /** Why an edge that has an enabled backend is not served. */
  readonly refusal?: string;
  /** Until it is read, the policy counts that was in force for the edge before. */
  readonly unread?: UnreadText;
  /** The digest of the traffic policy that is in force, or that must be read. */
  readonly digest?: string;
  /** The ids of the edges, backends and IP policies whose changes can change this judgement. */
  readonly concerns: ReadonlySet<string>;
}

/** What is known of the text of a traffic policy. `ignore`: the gateway serves edges without their policies. */
type KnownPolicies = 'ignore' | ((of: PolicyText) => PolicyReading | undefined);

/**
 * Decides what to serve at a hostport: the first edge whose backend is enabled. If the gateway cannot serve this edge,
 * or the answer left it out, nothing is served: a later edge may belong to another account. `before`: the edge that was
 * served there until now.
 */
export function judge(answer: EdgeAnswer, known: KnownPolicies, before?: ServedEdge): Judgement {
  const { edges, before_left_out } = answer;
  const named = edges.flatMap(namesOf);
  const first = edges.slice(0, before_left_out).find(({ edge }) => edge.backend?.enabled === true);
  if (first !== undefined)
    return judgeFirst({ first, named }, known, before?.id === first.edge.id ? before : undefined);
  const refusal = before_left_out < edges.length ? { refusal: LEFT_OUT } : {};
  return { served: undefined, ...refusal, concerns: new Set(named) };
}

/** The first edge of an answer, and the ids that the whole answer names. */
interface First {
  readonly first: ListedEdge;
  readonly named: readonly string[];
}

/** An unread text holds what it needs of an answer, and no other edge of it: their texts may be large. */
function judgeFirst(of: First, known: KnownPolicies, before: ServedEdge | undefined): Judgement {
  const { first, named } = of;
  const why = refusalOf(first);
  if (why !== undefined) return refused(of, why);
  const text = known === 'ignore' ? undefined : policyTextOf(first);
  if (known === 'ignore' || text === undefined)
    return { served: servedEdge(first, compiledOf(first.ip_policies)), concerns: new Set(named) };
  if (typeof first.traffic_policy_error === 'string') return refused(of, unreadable(first.traffic_policy_error));
  const reading = known(text);
  if (reading !== undefined) return judgeBy(of, text, reading);
  const compiled = compiledOf(first.ip_policies);
  const policy = before?.policy && stillInForce(before.policy, first, compiled);
  return {
    served: { ...servedEdge(first, compiled), policy, isOpen: policy !== undefined },
    unread: { ...text, judge: (later) => judgeBy(of, text, later) },
    digest: text.digest,
    concerns: new Set([...named, ...(policy?.policy.ipPolicyIds ?? [])]),
  };
}

function judgeBy(of: First, { digest }: PolicyText, reading: PolicyReading): Judgement {
  if (reading instanceof UnreadablePolicy) return refused(of, unreadable(reading.message));
  const compiled = compiledOf(of.first.ip_policies);
  const served = { ...servedEdge(of.first, compiled), policy: inForce(reading, of.first, compiled) };
  return { served, digest, concerns: new Set([...of.named, ...reading.ipPolicyIds]) };
}

/** `why` completes the sentence "edge ID ...". */
const refused = ({ first, named }: First, why: string): Judgement => ({
  served: undefined,
  refusal: `edge ${first.edge.id} ${why}`,
  concerns: new Set(named),
});

const namesOf = ({ edge, ip_policies }: ListedEdge): string[] => [
  edge.id,
  ...(edge.backend === null ? [] : [edge.backend.backend.id]),
  ...ip_policies.map(({ id }) => id),
];

/** Undefined: the edge has no traffic policy that counts. */
function policyTextOf({ edge, account_id }: ListedEdge): PolicyText | undefined {
  if (edge.traffic_policy?.enabled !== true) return undefined;
  const { value: text } = edge.traffic_policy;
  return { accountId: account_id, text, digest: createHash('sha256').update(text).digest('base64') };
}

const unreadable = (why: string): string =>
  `is not served: its traffic policy cannot be read (see GATEWAY_TRAFFIC_POLICIES): ${why}`;

/** Why the edge is not served, whatever its traffic policy, completing the sentence "edge ID ...". */
function refusalOf({ edge, ip_policies, tunnel_group }: ListedEdge): string | undefined {
  const unknown = ip_policies.find(({ id, exists }) => !exists && restrictionOf(edge)?.ip_policy_ids.includes(id));
  if (edge.ip_restriction?.enabled === true && unknown !== undefined) {
    return `is not served: its IP restriction names a policy that does not exist: ${unknown.id}`;
  }
  if (tunnel_group === null) return `is not served: its backend ${edge.backend?.backend.id} is not a tunnel group`;
  if (Object.keys(tunnel_group.labels).length === 0) {
    return `is not served: its tunnel group ${tunnel_group.id} has no labels, so it would take every tunnel`;
  }
  return undefined;
}

/** The edge without its traffic policy. */
function servedEdge(listed: ListedEdge, compiled: CompiledPolicies): ServedEdge {
  const { edge, account_id, tunnel_group } = listed;
  const restriction = restrictionOf(edge);
  const isAsked = restriction?.enabled === true && areLarge(restriction.ip_policy_ids, listed);
  return {
    id: edge.id,
    accountId: account_id,
    isOpen: true,
    labels: tunnel_group?.labels ?? {},
    letsIn: isAsked ? () => 'ask' : (source) => decideSource(restriction, compiled, source).allowed,
    policy: undefined,
  };
}

const inForce = (policy: TrafficPolicy, listed: ListedEdge, ipPolicies: CompiledPolicies): ServedPolicy => ({
  policy,
  ipPolicies,
  isAsked: areLarge(policy.ipPolicyIds, listed),
});

/** The answer has only the IP policies that its own text names. The others stay as they were. */
function stillInForce(before: ServedPolicy, listed: ListedEdge, compiled: CompiledPolicies): ServedPolicy {
  const { policy, isAsked } = before;
  const resolved = new Set(listed.ip_policies.map(({ id }) => id));
  const others = [...before.ipPolicies].filter(([id]) => !resolved.has(id));
  const ipPolicies = new Map([...others, ...compiled]);
  return { policy, ipPolicies, isAsked: isAsked || areLarge(policy.ipPolicyIds, listed) };
}

/** Whether the service did not send all rules of these IP policies. */
const areLarge = (ids: readonly string[], { ip_policies }: ListedEdge): boolean =>
  ip_policies.some(({ id, exists, rules }) => exists && rules === null && ids.includes(id));

function compiledOf(policies: ListedEdge['ip_policies']): CompiledPolicies {
  return new Map(policies.flatMap(({ id, rules }) => (rules === null ? [] : [[id, compilePolicy(rules)] as const])));
}

/** Decides like `POST /edges/tcp/{id}/check`. */
const restrictionOf = ({ ip_restriction }: ListedEdge['edge']): IpRestriction | null =>
  ip_restriction && {
    enabled: ip_restriction.enabled,
    ip_policy_ids: ip_restriction.ip_policies.map(({ id }) => id),
  };
