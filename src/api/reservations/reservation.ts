import type { BindTarget } from '../../rules/index.js';

/** Why a target is neither bound nor served, whatever the rules permit. */
export const RESERVATION_REASONS = ['reserved_elsewhere', 'not_reserved'] as const;
export type ReservationReason = (typeof RESERVATION_REASONS)[number];

/**
 * Whether an account may have a target, as far as reservations go: undefined if it may. `credentialIds`: those that want it;
 * undefined if nobody wants it yet.
 */
export type RefusalOf = (
  accountId: string,
  target: BindTarget,
  credentialIds?: readonly string[],
) => ReservationReason | undefined;

/** A host or `*.suffix`, at one port or at any. */
export interface ListenPattern {
  readonly host: string;
  readonly port: number | null;
}

/** What stock sshd may permit, which has no words for "but not what is reserved for others". */
export interface Narrowing {
  /** Whether nothing under the pattern is reserved for others. */
  isFree(pattern: ListenPattern): boolean;
  /** Whether nothing at all is. */
  readonly isAllFree: boolean;
  /** What the account has reserved: addresses, and domains at any port. */
  readonly own: readonly ListenPattern[];
}

/** Nobody else has reserved anything, and there is no pool. */
export const ALL_FREE: Narrowing = { own: [], isAllFree: true, isFree: () => true };

/** Whether a host or a wildcard covers a host. */
export const covers = (pattern: string, host: string): boolean =>
  pattern === host || (pattern.startsWith('*.') && host.endsWith(pattern.slice(1)));
