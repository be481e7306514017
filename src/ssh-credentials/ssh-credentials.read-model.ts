import type { Pool } from 'pg';
import { coalesced, type Ref } from '../database/coalesce.js';
import { queryNamed } from '../database/query.js';
import {
  ENTITY_COLUMNS,
  type Entity,
  type EntityRow,
  type ReadModel,
  type Row,
  type Table,
} from '../log/read-model.js';
import { type Part, partOf } from '../resources/changes.js';
import { EntityQueries } from '../resources/entity-queries.js';
import { MAX_REMOVED_AT_ONCE, type OwnedThings } from '../resources/owned-things.js';
import { evolve, REMOVAL, type SshCredential, type SshCredentialEvent } from './ssh-credential.js';

const COLUMNS = [
  ...ENTITY_COLUMNS,
  'description',
  'metadata',
  'public_key',
  'acl',
  'owner_id',
  'key_type',
  'key_bits',
  'key_blob',
  'fingerprint',
  'exclusive',
] as const;

interface SshCredentialRow extends EntityRow {
  readonly description: string;
  readonly metadata: string;
  readonly public_key: string;
  readonly acl: string[];
  readonly owner_id: string;
  readonly key_type: string;
  readonly key_bits: number;
  readonly key_blob: string;
  readonly fingerprint: string;
  readonly exclusive: boolean;
}

const rowOf = (entity: Entity<SshCredential>): Row => {
  const { state } = entity;
  return {
    account_id: entity.accountId,
    id: entity.id,
    version: entity.version,
    created_at: entity.createdAt,
    description: state.description,
    metadata: state.metadata,
    public_key: state.publicKey,
    acl: state.acl,
    owner_id: state.ownerId,
    key_type: state.keyType,
    key_bits: state.keyBits,
    key_blob: state.keyBlob,
    fingerprint: state.fingerprint,
    exclusive: state.isExclusive,
  };
};

const stateOf = (row: SshCredentialRow): SshCredential => ({
  description: row.description,
  metadata: row.metadata,
  publicKey: row.public_key,
  acl: row.acl,
  ownerId: row.owner_id,
  keyType: row.key_type,
  keyBits: row.key_bits,
  keyBlob: row.key_blob,
  fingerprint: row.fingerprint,
  isExclusive: row.exclusive,
});

const TABLE: Table<SshCredential> = {
  name: 'ssh_credentials',
  columns: COLUMNS,
  primaryKey: ['account_id', 'id'],
  rowsOf: (entity) => [rowOf(entity)],
  exclusiveValuesOf: (row) => (row.exclusive === true ? [`key:${row.fingerprint}`] : []),
};

export const sshCredentialsReadModel: ReadModel<SshCredential, SshCredentialEvent> = {
  streamPrefixes: ['sshcr'],
  events: {
    'ssh_credential_created.v1': {},
    'ssh_credential_updated.v1': {},
    'ssh_credential_deleted.v1': { isEnd: true },
  },
  evolve,
  tables: [TABLE],
};

/** The unique index that strict mode writes into; violated when two creates of one key race. */
export const EXCLUSIVE_KEY_CONSTRAINT = 'ssh_credentials_exclusive_key';

const ACCOUNTS_BY_FINGERPRINTS = {
  name: 'accounts_by_fingerprints',
  text: 'select distinct fingerprint, account_id from ssh_credentials where fingerprint = any($1)',
};

/** What GET and LIST answer, and what handlers decide on. */
export class SshCredentials extends EntityQueries<SshCredential, SshCredentialRow> implements OwnedThings {
  constructor(pool: Pool) {
    super(pool, TABLE, 'sshcr', stateOf);
  }

  /** Ids of the accounts with a live credential for this key. */
  readonly accountsWithKey = coalesced<string, readonly string[]>(
    (fingerprint) => fingerprint,
    async (fingerprints) => {
      const { rows } = await queryNamed<{ fingerprint: string; account_id: string }>(
        this.pool,
        ACCOUNTS_BY_FINGERPRINTS,
        [fingerprints],
      );
      const accounts = new Map<string, string[]>();
      for (const row of rows) accounts.set(row.fingerprint, [...(accounts.get(row.fingerprint) ?? []), row.account_id]);
      return accounts;
    },
  );

  async removalOf(owner: Ref, occurredAt: Date): Promise<readonly Part[]> {
    const credentials = await this.ownedBy(owner, MAX_REMOVED_AT_ONCE);
    return credentials.map((one) => partOf(sshCredentialsReadModel, one, one, [REMOVAL], occurredAt));
  }
}
