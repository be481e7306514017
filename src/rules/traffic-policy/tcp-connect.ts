import { type Address, addressText } from '../ip-rules/address.js';
import type { CompiledPolicy } from '../ip-rules/ip-policy.js';
import { decideSource, type IpDecision } from '../ip-rules/ip-restriction.js';
import { type ActionType, MAX_LOG_BYTES, type PolicyAction, type RestrictIps } from './actions.js';
import { bindingsOf, type RestrictIpsResult, restrictIpsBinding } from './cel.js';
import { type Expression, MAX_STEPS, type Scene, summaryOf } from './expression.js';
import type { Template } from './template.js';
import { timeText } from './time-fields.js';
import type { PolicyRule, TrafficPolicy } from './traffic-policy.js';

/** A connection that begins, as the expressions of a policy see it. */
export interface TcpConnection {
  readonly client: { readonly address: Address; readonly port: number };
  readonly server: { readonly address: Address; readonly port: number };
  readonly startedAtMs: number;
  readonly endpointId: string;
  readonly nowMs: number;
}

/** Why a traffic policy lets a connection in or not. */
export const TRAFFIC_REASONS = [
  'policy_disabled',
  'no_action_ends',
  'denied',
  'connection_closed',
  'ip_restricted',
  'expression_failed',
  'too_many_steps',
] as const;
/** One of TRAFFIC_REASONS. */
export type TrafficReason = (typeof TRAFFIC_REASONS)[number];

/** What an action of `log` says; it belongs into the record of the connection. */
export interface PolicyLog {
  /** The place of the action. */
  readonly place: string;
  readonly metadata: unknown;
}

/** Whether a traffic policy lets a connection in, why, and the rule and the action that decided. */
export interface TrafficDecision {
  readonly allowed: boolean;
  readonly reason: TrafficReason;
  /** The place of the action that decided, or of the expression that failed. */
  readonly place?: string;
  readonly ruleIndex?: number;
  readonly ruleName?: string;
  readonly actionType?: ActionType;
  /** What decided for an action of `restrict-ips`; a rule of the action itself has no `policyId`. */
  readonly ip?: IpDecision;
  readonly logs: readonly PolicyLog[];
  /** How many logs are left out, since a decision has at most MAX_LOG_BYTES of them. */
  readonly logsLeftOut: number;
  /** Sentences about what did not decide: expressions that failed or can never be true, restrictions not enforced. */
  readonly notes: readonly string[];
}

const MAX_NOTES = 20;
const STEPS_OF_RULE = 1;
const STEPS_OF_ACTION = 2;
const STEPS_OF_IP_RULES = 50;
/** The name of the rules of an action beside the ids of IP policies, none of which is empty. */
const OWN_RULES = '';

/**
 * Decides over a connection: the first action that ends it decides, and without one it is let in. An IP policy that does
 * not exist lets nobody in. If an expression fails, the connection is closed if the rule could end it: no rule lets
 * anyone in, so a rule that is passed over can only let in too many.
 */
export function decideTcpConnect(
  policy: TrafficPolicy,
  connection: TcpConnection,
  ipPolicies: Pick<ReadonlyMap<string, CompiledPolicy>, 'get' | 'has'>,
): TrafficDecision {
  const run = new Run(connection, ipPolicies, policy.notes.slice(0, MAX_NOTES));
  if (!policy.enabled) return run.ending(true, 'policy_disabled');
  for (const [index, rule] of policy.rules.entries()) {
    const end = run.apply(rule, index);
    if (end !== undefined) return end;
  }
  return run.ending(true, 'no_action_ends');
}

type Found = Partial<Pick<TrafficDecision, 'place' | 'ruleIndex' | 'ruleName' | 'actionType' | 'ip'>>;
type End = Found & { readonly reason: TrafficReason };

class Run {
  private steps = 0;
  /** Of the list of logs as JSON. */
  private logBytes = 1;
  private logsLeftOut = 0;
  private readonly logs: PolicyLog[] = [];
  private scene: Scene;
  /** What the last action of `restrict-ips` found. */
  private ip: IpDecision | undefined;

  constructor(
    private readonly connection: TcpConnection,
    private readonly ipPolicies: Pick<ReadonlyMap<string, CompiledPolicy>, 'get' | 'has'>,
    private readonly notes: string[],
  ) {
    this.scene = sceneOf(connection);
  }

  ending(allowed: boolean, reason: TrafficReason, found: Found = {}): TrafficDecision {
    const { logs, logsLeftOut, notes } = this;
    return { allowed, reason, ...found, logs, logsLeftOut, notes };
  }

  /** The decision, if the rule ends the connection. */
  apply(rule: PolicyRule, ruleIndex: number): TrafficDecision | undefined {
    const end = this.meets(rule) ?? this.act(rule);
    if (end === undefined || end === 'passes') return undefined;
    const { reason, ...found } = end;
    const named = { ruleIndex, ...(rule.name !== undefined && { ruleName: rule.name }) };
    return this.ending(false, reason, { ...found, ...named });
  }

  /** Undefined: the expressions are true, so that the actions happen. */
  private meets(rule: PolicyRule): End | 'passes' | undefined {
    if (!this.spend(STEPS_OF_RULE)) return { reason: 'too_many_steps', place: rule.place };
    let failed: Expression | undefined;
    for (const expression of rule.expressions) {
      if (!this.spend(expression.steps)) return { reason: 'too_many_steps', place: expression.place };
      const value = this.valueOf(expression);
      if (value === false) return 'passes';
      if (value !== true) failed ??= expression;
    }
    if (failed === undefined) return undefined;
    if (rule.actions.some(({ action }) => action.type === 'restrict-ips')) this.tell({ error: {} });
    return rule.actions.some(({ action }) => mayEnd(action))
      ? { reason: 'expression_failed', place: failed.place }
      : 'passes';
  }

  private act(rule: PolicyRule): End | undefined {
    for (const { action, place } of rule.actions) {
      const reason = this.spend(stepsOf(action)) ? this.perform(action, place) : 'too_many_steps';
      if (reason === undefined) continue;
      const { ip } = this;
      return { reason, place, actionType: action.type, ...(reason === 'ip_restricted' && ip !== undefined && { ip }) };
    }
    return undefined;
  }

  /** Why the action ends the connection; undefined if it does not. */
  private perform(action: PolicyAction, place: string): TrafficReason | undefined {
    if (action.type === 'deny') return 'denied';
    if (action.type === 'close-connection') return 'connection_closed';
    if (action.type === 'log') {
      this.log(action.metadata, place);
      return undefined;
    }
    this.ip = this.restrict(action);
    if (this.ip.allowed) return undefined;
    if (action.enforce) return 'ip_restricted';
    this.note(place, `would end the connection (${this.ip.reason}), but is not enforced.`);
    return undefined;
  }

  private restrict({ rules, ipPolicyIds }: RestrictIps): IpDecision {
    const { ipPolicies } = this;
    const policies = {
      get: (id: string) => (id === OWN_RULES ? rules : ipPolicies.get(id)),
      has: (id: string) => id === OWN_RULES || ipPolicies.has(id),
    };
    const restriction = { enabled: true, ip_policy_ids: [OWN_RULES, ...ipPolicyIds] };
    const { policyId, ...decision } = decideSource(restriction, policies, this.connection.client.address);
    const [unknown] = decision.unknownPolicyIds;
    const isUnknown = decision.reason === 'policy_unknown';
    const result = {
      action: decision.allowed ? ('allow' as const) : ('deny' as const),
      matched_cidr: decision.rule?.cidr ?? '',
      error: {
        code: isUnknown ? 'policy_unknown' : '',
        message: isUnknown ? `The IP policy ${unknown?.slice(0, 40)} does not exist.` : '',
      },
    };
    this.tell(result);
    return policyId === undefined || policyId === OWN_RULES ? decision : { ...decision, policyId };
  }

  /** What later expressions see of the last restriction: nothing, if nobody knows whether it was to happen. */
  private tell(result: RestrictIpsResult): void {
    this.scene = { ...this.scene, bindings: { ...this.scene.bindings, ...restrictIpsBinding(result) } };
  }

  private log(metadata: Template, place: string): void {
    const isFull = this.logBytes > MAX_LOG_BYTES;
    const log = isFull ? undefined : { place, metadata: metadata.fill((expression) => this.valueOf(expression)) };
    // With the comma or the bracket after it.
    if (log !== undefined) this.logBytes += Buffer.byteLength(JSON.stringify(log)) + 1;
    if (log === undefined || this.logBytes > MAX_LOG_BYTES) this.logsLeftOut += 1;
    else this.logs.push(log);
  }

  /** Undefined if it fails. */
  private valueOf(expression: Expression): unknown {
    try {
      return expression.evaluate(this.scene);
    } catch (error) {
      this.note(expression.place, `failed: ${summaryOf(error)}.`);
      return undefined;
    }
  }

  private note(place: string, predicate: string): void {
    if (this.notes.length < MAX_NOTES) this.notes.push(`${place} ${predicate}`);
  }

  /** False if the decision has taken too many steps, so that no other connection may wait for it. */
  private spend(steps: number): boolean {
    this.steps += steps;
    return this.steps <= MAX_STEPS;
  }
}

const mayEnd = (action: PolicyAction): boolean =>
  action.type === 'deny' || action.type === 'close-connection' || (action.type === 'restrict-ips' && action.enforce);

function stepsOf(action: PolicyAction): number {
  if (action.type === 'log') return STEPS_OF_ACTION + action.metadata.steps;
  if (action.type !== 'restrict-ips') return STEPS_OF_ACTION;
  return STEPS_OF_ACTION + STEPS_OF_IP_RULES * (1 + action.ipPolicyIds.length);
}

function sceneOf({ client, server, startedAtMs, endpointId, nowMs }: TcpConnection): Scene {
  const [clientIp, serverIp] = [addressText(client.address), addressText(server.address)];
  const bindings = bindingsOf({
    clientIp,
    clientPort: client.port,
    serverIp,
    serverPort: server.port,
    startedAt: new Date(startedAtMs),
    endpointId,
    now: timeText(new Date(nowMs)),
  });
  const addresses = new Map([
    [serverIp, server.address],
    [clientIp, client.address],
  ]);
  return { bindings, addresses };
}
