import type { Caller } from '../../kernel/caller.js';
import { malformed, Problem, quoted } from '../../kernel/problem.js';
import { mayReadPrivate, refuseUnlessMayManageEnrollment, unknownEnrollmentKey } from '../resources/access-rules.js';
import { type Expiring, type ExpiryChange, expiryOf } from '../resources/expiry/expiry.js';

/** Storage format: the log holds these types. Add fields as optional; for any other change add a new version. */
export type EnrollmentKeyEvent =
  | { readonly type: 'enrollment_key_created.v1'; readonly data: CreatedEnrollmentKey }
  | { readonly type: 'enrollment_key_used.v1'; readonly data: EnrollmentKeyUse }
  | { readonly type: 'enrollment_key_deleted.v1'; readonly data: Readonly<Record<string, never>> };

/** What lets a device make its own credential. */
interface NewEnrollmentKey {
  readonly description: string;
  readonly metadata: string;
  /** Owner of the credentials that it makes. */
  readonly owner_id: string;
  /** SHA-256 of the token, hex. Only the answer that created the key has the token itself. */
  readonly token_hash: string;
  /** Rules of each credential, in which `{name}` and `{addr}` stand for what the device gets. */
  readonly acl: readonly string[];
  readonly reserve_addr: boolean;
  /** The only device that it enrols. Null: any that has no credential. */
  readonly name: string | null;
  readonly max_uses: number;
}

/** What the created event holds. */
export interface CreatedEnrollmentKey extends NewEnrollmentKey, Partial<ExpiryChange> {}

/** The table has a column for each field. */
export interface EnrollmentKey extends NewEnrollmentKey, Expiring {
  readonly uses: number;
}

/** What one enrolment made, in the same append. */
export interface EnrollmentKeyUse {
  readonly name: string;
  readonly credential_id: string;
  readonly reserved_addr_id?: string;
  /** The credential that the device had before. */
  readonly replaced_credential_id?: string;
}

export function evolve(state: EnrollmentKey | undefined, event: EnrollmentKeyEvent): EnrollmentKey | undefined {
  switch (event.type) {
    case 'enrollment_key_created.v1': {
      const { expires_at = null, ...key } = event.data;
      return { ...key, ...expiryOf({ expires_at }), uses: 0 };
    }
    case 'enrollment_key_used.v1':
      return state && { ...state, uses: state.uses + 1 };
    case 'enrollment_key_deleted.v1':
      return undefined;
  }
}

export const create = (key: CreatedEnrollmentKey): readonly EnrollmentKeyEvent[] => [
  { type: 'enrollment_key_created.v1', data: key },
];

export const use = (made: EnrollmentKeyUse): readonly EnrollmentKeyEvent[] => [
  { type: 'enrollment_key_used.v1', data: made },
];

/** Throws Problem if the key has enrolled as many devices as it may. */
export function refuseUsedUp({ uses, max_uses }: EnrollmentKey): void {
  if (uses < max_uses) return;
  const times = max_uses === 1 ? 'once' : `${max_uses} times`;
  throw new Problem('conflict', `This enrollment key was used ${times}, which is its max_uses; ask for another one.`);
}

/** The key of a device. Throws Problem if the key was deleted meanwhile, or is for another device. */
export function requireKeyFor<Key extends EnrollmentKey>(key: Key | undefined, name: string): Key {
  if (key === undefined) throw unknownEnrollmentKey();
  if (key.name === null || key.name === name) return key;
  throw malformed(`This enrollment key is for the name ${quoted(key.name)} alone.`);
}

/** Only a key for one name may replace its credential: who steals one for many takes no device's place. */
export const mayReplace = ({ name }: EnrollmentKey): boolean => name !== null;

export const REMOVAL: EnrollmentKeyEvent = { type: 'enrollment_key_deleted.v1', data: {} };

export function remove(state: EnrollmentKey | undefined, by: Caller): readonly EnrollmentKeyEvent[] {
  if (state === undefined || !mayReadPrivate(by, state)) throw enrollmentKeyNotFound();
  refuseUnlessMayManageEnrollment(by);
  return [REMOVAL];
}

export const enrollmentKeyNotFound = (): Problem => new Problem('not_found', 'Resource not found');
