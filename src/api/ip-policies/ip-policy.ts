import { Problem } from '../../kernel/problem.js';
import { type PlainEvent, plainEntity } from '../resources/plain-entity.js';

/** A named set of rules, which edges refer to by its id. The rules are resources of their own. */
export interface IpPolicy {
  readonly description: string;
  readonly metadata: string;
}

export type IpPolicyEvent = PlainEvent<'ip_policy', IpPolicy>;

/** The same for an unknown id and for an id of another account. */
export const ipPolicyNotFound = (): Problem => new Problem('ip_policy_not_found', 'Resource not found');

export const ipPolicy = plainEntity<'ip_policy', IpPolicy>('ip_policy', ipPolicyNotFound);
