import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { onPrimary, POOL, queryNamed } from '../../database/index.js';
import type { Entity } from '../../event-log/index.js';
import { Problem, quoted } from '../../kernel/problem.js';
import { EntityQueries } from '../resources/entity-queries.js';
import { CredentialUsage } from '../ssh-credentials/credential-usage.js';
import type { SshCredential } from '../ssh-credentials/ssh-credential.js';
import { SSH_CREDENTIALS } from '../ssh-credentials/ssh-credentials.resource.js';

const BY_NAME = onPrimary({
  name: 'credential_of_device',
  text: 'select id from ssh_credentials where account_id = $1 and device_name = $2 limit 1',
});

/** Each credential of a rotation names the one before in its first event. */
const ROTATED_BEFORE = onPrimary({
  name: 'credentials_rotated_before',
  text: `with recursive chain (id) as (
      select $2::text
      union
      select e.data::json ->> 'rotated_from' from chain
        join events e on e.account_id = $1 and e.stream_id = chain.id and e.stream_version = 1)
    select c.id from chain join ssh_credentials c on c.account_id = $1 and c.id = chain.id
      where c.id <> $2 and (c.expires_at is null or c.expires_at > now())`,
});

const HAS_ADDR = onPrimary({
  name: 'account_has_addr',
  text: 'select from reserved_addrs where account_id = $1 and addr = $2',
});

/** The credentials that devices made, by the names of the devices. */
@Injectable()
export class EnrolledDevices {
  constructor(
    @Inject(POOL) private readonly pool: Pool,
    private readonly entities: EntityQueries,
    private readonly usage: CredentialUsage,
  ) {}

  async find(accountId: string, name: string): Promise<Entity<SshCredential> | undefined> {
    const { rows } = await queryNamed<{ id: string }>(this.pool, BY_NAME, [accountId, name]);
    return rows[0] && this.entities.find(SSH_CREDENTIALS, { accountId, id: rows[0].id });
  }

  /** The credential of a device, and those that it had before a rotation, as long as they live on. */
  async allOf(device: Entity<SshCredential>): Promise<readonly Entity<SshCredential>[]> {
    const { account_id: accountId } = device;
    const { rows } = await queryNamed<{ id: string }>(this.pool, ROTATED_BEFORE, [accountId, device.id]);
    const before = await Promise.all(rows.map(({ id }) => this.entities.find(SSH_CREDENTIALS, { accountId, id })));
    return [device, ...before.filter((one) => one !== undefined)];
  }

  /** The address that a device had, if its account still has it. */
  async addrOf({ account_id, device_addr }: Entity<SshCredential>): Promise<string | undefined> {
    if (device_addr == null) return undefined;
    const { rows } = await queryNamed(this.pool, HAS_ADDR, [account_id, device_addr]);
    return rows.length > 0 ? device_addr : undefined;
  }

  /** The refusal of a name that a device with another key has. */
  async taken({ account_id: accountId, id }: Entity<SshCredential>, name: string): Promise<Problem> {
    const seen = (await this.usage.lastSeenAt({ accountId, id })) ?? 'never';
    const way = 'delete it, or ask for an enrollment key for this name';
    const sentence = `The name ${quoted(name)} has the SSH credential ${id} with another key, last seen ${seen}; ${way}.`;
    return new Problem('conflict', sentence, { id, last_seen_at: seen });
  }
}
