import type { TrafficDecision } from '../../rules/index.js';

/** Whether an edge lets a client in. */
export interface Admission {
  /** Why it does not. `not_allowed`: by its IP rules, or it is not the edge of the client any more. */
  readonly refusal?: 'not_allowed' | 'traffic_policy';
  /** Why the traffic policy refuses the client, and the place in it that decided. */
  readonly reason?: string;
  readonly place?: string;
  /** What its `log` actions said, as JSON: an open connection keeps it. Absent if they said nothing. */
  readonly logs?: string;
}

export const LET_IN: Admission = {};
export const NOT_ALLOWED: Admission = { refusal: 'not_allowed' };
/** For a policy about which only the service can decide, if it is an earlier version that does not. */
export const UNREADABLE: Admission = { refusal: 'traffic_policy', reason: 'unreadable' };

interface Decided extends Pick<TrafficDecision, 'allowed' | 'logs'> {
  readonly reason: string;
  readonly place?: string | null;
}

/** What a traffic policy decided, here or at the service. */
export const admissionBy = ({ allowed, reason, place, logs }: Decided): Admission => ({
  ...(!allowed && { refusal: 'traffic_policy' as const, reason }),
  ...(!allowed && place != null && { place }),
  ...(logs.length > 0 && { logs: JSON.stringify(logs) }),
});
