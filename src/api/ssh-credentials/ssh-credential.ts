import type { Caller } from '../../kernel/caller.js';
import { Problem } from '../../kernel/problem.js';
import { refuseUnlessOwnerOrAdmin } from '../resources/access-rules.js';
import { updatedEvents } from '../resources/changed-fields.js';
import { type Expiring, type ExpiryChange, expiryEvents, expiryOf } from '../resources/expiry/expiry.js';

/** Storage format: the log holds these types. Add fields as optional; for any other change add a new version. */
export type SshCredentialEvent =
  | { readonly type: 'ssh_credential_created.v1'; readonly data: CreatedSshCredential }
  | { readonly type: 'ssh_credential_updated.v1'; readonly data: SshCredentialUpdate }
  | { readonly type: 'ssh_credential_expiry_changed.v1'; readonly data: ExpiryChange & RotatedTo }
  | { readonly type: 'ssh_credential_source_restriction_changed.v1'; readonly data: SourceRestriction }
  | { readonly type: 'ssh_credential_deleted.v1'; readonly data: Readonly<Record<string, never>> };

/** An uploaded public key that authorizes its owner to start tunnels, within its ACL when it has one. */
interface NewSshCredential {
  readonly description: string;
  readonly metadata: string;
  /** The text as it was uploaded, byte for byte. */
  readonly public_key: string;
  readonly acl: readonly string[];
  readonly owner_id: string;
  readonly key_type: string;
  readonly key_bits: number;
  /** RFC 4253 wire form, base64. */
  readonly key_blob: string;
  readonly fingerprint: string;
  /** Written in strict mode: no second live credential of the account may hold this key. */
  readonly exclusive: boolean;
}

/** The networks that a credential may be used from, in canonical form; null: from anywhere. */
export interface SourceRestriction {
  readonly source_cidrs: readonly string[] | null;
}

/** The other credential of a rotation. No column has it: histories show it, and the log leads from one to the other. */
interface RotatedTo {
  readonly rotated_to?: string;
}
interface RotatedFrom {
  readonly rotated_from?: string;
}

/**
 * The device that made its credential, and its address. The event also names the enrollment key, and the credential that the
 * device had before.
 */
interface OfDevice {
  readonly device_name?: string | null;
  readonly device_addr?: string | null;
  readonly enrolled_by?: string;
  readonly replaces?: string;
}

/** What the created event holds. A credential that was created without an expiry or a restriction has no such field there. */
export interface CreatedSshCredential
  extends NewSshCredential,
    Partial<ExpiryChange>,
    Partial<SourceRestriction>,
    RotatedFrom,
    OfDevice {}

/** The table has a column for each field but those that name another credential or key. A field that no event of the credential has set is absent or null. */
export interface SshCredential
  extends NewSshCredential,
    Expiring,
    Partial<SourceRestriction>,
    RotatedFrom,
    RotatedTo,
    OfDevice {}

/** Only the fields that change. */
export type SshCredentialUpdate = Partial<Pick<SshCredential, 'description' | 'metadata' | 'acl'>>;

export function evolve(state: SshCredential | undefined, event: SshCredentialEvent): SshCredential | undefined {
  switch (event.type) {
    case 'ssh_credential_created.v1':
      return stateOf(event.data);
    case 'ssh_credential_updated.v1':
    case 'ssh_credential_source_restriction_changed.v1':
      return state === undefined ? undefined : { ...state, ...event.data };
    case 'ssh_credential_expiry_changed.v1':
      return state && { ...withoutDevice(state, event.data), ...event.data, ...expiryOf(event.data) };
    case 'ssh_credential_deleted.v1':
      return undefined;
  }
}

const stateOf = ({ expires_at, ...created }: CreatedSshCredential): SshCredential =>
  expires_at === undefined ? created : { ...created, ...expiryOf({ expires_at }) };

/** A rotation gives the device's name to the new credential. */
const withoutDevice = (state: SshCredential, { rotated_to }: RotatedTo): SshCredential =>
  rotated_to === undefined || state.device_name == null ? state : { ...state, device_name: null, device_addr: null };

/** The handler looks up whether the owner is active. The append refuses a key of another account. */
export const create = (credential: CreatedSshCredential): readonly SshCredentialEvent[] => [
  { type: 'ssh_credential_created.v1', data: credential },
];

/** Each decision below is for the owner and admins, and throws Problem for others. `by` is the caller. */
export const update = (
  credential: SshCredential | undefined,
  by: Caller,
  changes: SshCredentialUpdate,
): readonly SshCredentialEvent[] =>
  updatedEvents('ssh_credential_updated.v1', changes, requireChangeable(by, credential));

/** Null removes the expiry. `at` is the time of the event. */
export const setExpiry = (
  credential: SshCredential | undefined,
  by: Caller,
  wanted: Date | null,
  at: Date,
): readonly SshCredentialEvent[] =>
  expiryEvents('ssh_credential_expiry_changed.v1', { wanted, at }, requireChangeable(by, credential));

/** The part of a credential that is of its key. */
export type KeyOfCredential = Pick<
  NewSshCredential,
  'public_key' | 'key_type' | 'key_bits' | 'key_blob' | 'fingerprint' | 'exclusive'
>;

/** Null removes the restriction. */
export function restrictSources(
  credential: SshCredential | undefined,
  by: Caller,
  { source_cidrs }: SourceRestriction,
): readonly SshCredentialEvent[] {
  const { source_cidrs: current } = requireChangeable(by, credential);
  if (String(source_cidrs ?? '') === String(current ?? '')) return [];
  return [{ type: 'ssh_credential_source_restriction_changed.v1', data: { source_cidrs } }];
}

export const REMOVAL: SshCredentialEvent = { type: 'ssh_credential_deleted.v1', data: {} };

export function remove(credential: SshCredential | undefined, by: Caller): readonly SshCredentialEvent[] {
  requireChangeable(by, credential);
  return [REMOVAL];
}

/** The same sentence for an unknown id and for another account's: that a credential exists is itself a secret. */
export const sshCredentialNotFound = (): Problem => new Problem('not_found', 'Resource not found');

/** Throws Problem unless the caller may change the credential. */
export function requireChangeable(caller: Caller, credential: SshCredential | undefined): SshCredential {
  if (credential === undefined) throw sshCredentialNotFound();
  refuseUnlessOwnerOrAdmin(caller, credential, 'SSH credential');
  return credential;
}
