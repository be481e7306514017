import { type EdgeAdmission, UnreadablePolicy } from '../../rules/index.js';

/** Whether an edge admits a client. */
export interface Admission {
  /** Why it does not. `not_allowed`: by its IP rules, or it is not the edge of the client any more. */
  readonly refusal?: 'not_allowed' | 'traffic_policy';
  /** Why the traffic policy refuses the client, and the place in it that decided. */
  readonly reason?: string;
  readonly place?: string;
  /** What its `log` actions said, as JSON: an open connection keeps it. Absent if they said nothing. */
  readonly logs?: string;
}

export const ADMITTED: Admission = {};
export const NOT_ALLOWED: Admission = { refusal: 'not_allowed' };

export function admissionOf({ isAdmitted, traffic }: EdgeAdmission): Admission {
  if (traffic === undefined) return isAdmitted ? ADMITTED : NOT_ALLOWED;
  if (traffic instanceof UnreadablePolicy) return { refusal: 'traffic_policy', reason: 'unreadable' };
  const { reason, place, logs } = traffic;
  return {
    ...(!isAdmitted && { refusal: 'traffic_policy' as const, reason }),
    ...(!isAdmitted && place !== undefined && { place }),
    ...(logs.length > 0 && { logs: JSON.stringify(logs) }),
  };
}
