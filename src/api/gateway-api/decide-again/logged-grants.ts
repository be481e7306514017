import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { Ref } from '../../../database/index.js';
import { type Entity, LogReader } from '../../../event-log/index.js';
import type { Gateway } from '../../../kernel/caller.js';
import { type Principal, type PrincipalEvent } from '../../access/accounts/principal.js';
import { principalsReadModel } from '../../access/accounts/principals.read-model.js';
import type { SshCredential } from '../../ssh-credentials/ssh-credential.js';
import { sshCredentialsReadModel } from '../../ssh-credentials/ssh-credentials.read-model.js';
import {
  type KeyRead,
  MAX_CREDENTIALS_READ,
  MAX_GRANTS_PER_KEY,
  type StoredCredentialGrant,
  servedBy,
} from '../decisions/credential-grants.js';

/** The moment for which a decision is made again. */
export interface Moment {
  /** The size that each account's log had. */
  positionOf(accountId: string): Promise<number>;
  /** The database's time, in milliseconds since 1970: what had expired by then is not live. */
  readonly time: number;
}

/**
 * The grants of a key as of a moment, folded from the log. CredentialGrants reads the same from the current rows, by a
 * statement that selects as `grantsAmong` does.
 */
export class LoggedGrants {
  private readonly log: LogReader;

  constructor(
    pool: Pool,
    /** The streams of all credentials that the key ever had, in any account. */
    private readonly streams: readonly Ref[],
    private readonly moment: Moment,
  ) {
    this.log = new LogReader(pool);
  }

  async ofKey(gateway: Gateway, fingerprint: string): Promise<KeyRead> {
    const existed: Entity<SshCredential>[] = [];
    for (const stream of this.streams) existed.push(...(await this.credentialOf(stream)));
    const byAge = existed.filter((one) => one.fingerprint === fingerprint).sort((a, b) => (a.id < b.id ? -1 : 1));
    const [oldest] = byAge;
    if (oldest === undefined) return { grants: [], logPosition: null, readAt: this.moment.time / 1000 };
    const ofAccount = byAge.filter(({ account_id }) => account_id === oldest.account_id).slice(0, MAX_CREDENTIALS_READ);
    const grants: StoredCredentialGrant[] = [];
    for (const credential of ofAccount) grants.push(await this.grantOf(credential));
    const logPosition = await this.moment.positionOf(oldest.account_id);
    return servedBy(gateway, { grants: grantsAmong(grants), logPosition, readAt: this.moment.time / 1000 });
  }

  /** Each grant has its ACL already. */
  withAclsOfKey(gateway: Gateway, fingerprint: string): Promise<KeyRead> {
    return this.ofKey(gateway, fingerprint);
  }

  private async credentialOf(stream: Ref): Promise<Entity<SshCredential>[]> {
    const position = await this.moment.positionOf(stream.accountId);
    const found = await this.log.entityAt(sshCredentialsReadModel, stream, position);
    return found === undefined ? [] : [found];
  }

  private async grantOf(credential: Entity<SshCredential>): Promise<StoredCredentialGrant> {
    const { account_id, id, version, owner_id, fingerprint, acl, source_cidrs, expires_at } = credential;
    return {
      accountId: account_id,
      credentialId: id,
      ownerId: owner_id,
      version,
      fingerprint,
      isOwnerActive: await this.isOwnerActive({ accountId: account_id, id: owner_id }),
      isExpired: expires_at != null && expires_at.getTime() <= this.moment.time,
      aclDigest: createHash('sha256').update(JSON.stringify(acl)).digest('hex'),
      rules: acl,
      sources: source_cidrs?.join(',') ?? null,
      // Only answers to gateways need them.
      ...{ expiresAt: null, expiresInMs: null },
    };
  }

  /** An owner that the account does not know is active. */
  private async isOwnerActive(owner: Ref): Promise<boolean> {
    if (!principalsReadModel.streamPrefixes.some((prefix) => owner.id.startsWith(`${prefix}_`))) return true;
    const position = await this.moment.positionOf(owner.accountId);
    const found = await this.log.entityAt<Principal, PrincipalEvent>(principalsReadModel, owner, position);
    return found === undefined || (found.active && !found.deleted);
  }
}

/** The grants that the statement of CredentialGrants selects from these credentials of an account, oldest first. */
function grantsAmong(credentials: readonly StoredCredentialGrant[]): readonly StoredCredentialGrant[] {
  const firstActive = credentials.find(({ isOwnerActive }) => isOwnerActive);
  return credentials
    .filter((one, n) => n === 0 || (one.isOwnerActive && (!one.isExpired || one === firstActive)))
    .slice(0, MAX_GRANTS_PER_KEY + 2);
}
