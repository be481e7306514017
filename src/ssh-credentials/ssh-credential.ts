import { type Caller, isAdmin } from '../caller.js';
import { Problem } from '../problem.js';
import { refuseOtherValue } from '../resources/read-only-fields.js';

/** Storage format: these types are what the log holds. Add fields as optional; for any other change add a new version. */
export type SshCredentialEvent =
  | {
      readonly type: 'ssh_credential_created.v1';
      readonly data: {
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
      };
    }
  | {
      readonly type: 'ssh_credential_updated.v1';
      /** Only what changed. */
      readonly data: { readonly description?: string; readonly metadata?: string; readonly acl?: readonly string[] };
    }
  | { readonly type: 'ssh_credential_deleted.v1'; readonly data: Readonly<Record<string, never>> };

/** An uploaded public key that authorizes its owner to start tunnels, within its ACL when it has one. */
export interface SshCredential {
  readonly description: string;
  readonly metadata: string;
  readonly publicKey: string;
  readonly acl: readonly string[];
  readonly ownerId: string;
  readonly keyType: string;
  readonly keyBits: number;
  readonly keyBlob: string;
  readonly fingerprint: string;
  readonly isExclusive: boolean;
}

export function evolve(state: SshCredential | undefined, event: SshCredentialEvent): SshCredential | undefined {
  switch (event.type) {
    case 'ssh_credential_created.v1': {
      const { data } = event;
      return {
        description: data.description,
        metadata: data.metadata,
        publicKey: data.public_key,
        acl: data.acl,
        ownerId: data.owner_id,
        keyType: data.key_type,
        keyBits: data.key_bits,
        keyBlob: data.key_blob,
        fingerprint: data.fingerprint,
        isExclusive: data.exclusive,
      };
    }
    case 'ssh_credential_updated.v1':
      return state === undefined ? undefined : { ...state, ...event.data };
    case 'ssh_credential_deleted.v1':
      return undefined;
  }
}

type Decision = (state: SshCredential | undefined) => readonly SshCredentialEvent[];

/** A create names the caller or, from an admin, anyone; whether a known owner is active is the handler's to look up. */
export const create =
  (args: SshCredential): Decision =>
  (state) => {
    if (state !== undefined) return [];
    // Field by field, here and in evolve: copying the rest of an object costs a create ten microseconds.
    const data = {
      description: args.description,
      metadata: args.metadata,
      public_key: args.publicKey,
      acl: args.acl,
      owner_id: args.ownerId,
      key_type: args.keyType,
      key_bits: args.keyBits,
      key_blob: args.keyBlob,
      fingerprint: args.fingerprint,
      exclusive: args.isExclusive,
    };
    return [{ type: 'ssh_credential_created.v1', data }];
  };

export interface SshCredentialUpdate {
  readonly by: Caller;
  readonly description?: string;
  readonly metadata?: string;
  readonly acl?: readonly string[];
  /** Fields that never change, as the caller sent them back. */
  readonly readOnly?: { readonly publicKey?: string; readonly ownerId?: string };
}

export const update =
  (args: SshCredentialUpdate): Decision =>
  (state) => {
    if (state === undefined) throw notFound();
    refuseUnlessOwnerOrAdmin(args.by, state);
    refuseOtherValue('public_key', args.readOnly?.publicKey, state.publicKey);
    refuseOtherValue('owner_id', args.readOnly?.ownerId, state.ownerId);
    const { description, metadata, acl } = args;
    const data = {
      ...(description !== undefined && description !== state.description && { description }),
      ...(metadata !== undefined && metadata !== state.metadata && { metadata }),
      ...(acl !== undefined && !sameList(acl, state.acl) && { acl }),
    };
    return Object.keys(data).length === 0 ? [] : [{ type: 'ssh_credential_updated.v1', data }];
  };

export const REMOVAL: SshCredentialEvent = { type: 'ssh_credential_deleted.v1', data: {} };

export const remove =
  (args: { readonly by: Caller }): Decision =>
  (state) => {
    if (state === undefined) throw notFound();
    refuseUnlessOwnerOrAdmin(args.by, state);
    return [REMOVAL];
  };

/** The same sentence for an unknown id and for another account's: that a credential exists is itself a secret. */
export const notFound = (): Problem => new Problem('not_found', 'Resource not found');

/** Every principal of the account may read a credential, so refusing to change it tells nothing new: 403, not 404. */
function refuseUnlessOwnerOrAdmin(caller: Caller, state: SshCredential): void {
  if (state.ownerId === caller.principalId || isAdmin(caller)) return;
  throw new Problem('role_missing', 'Only its owner or an admin may change or delete this SSH credential.');
}

const sameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((rule, i) => rule === b[i]);
