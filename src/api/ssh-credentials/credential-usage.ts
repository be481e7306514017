import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { coalescedRows, POOL, type Ref, wantedRows } from '../../database/index.js';
import type { Entity } from '../../event-log/index.js';
import type { Caller } from '../../kernel/caller.js';
import { mayReadPrivate } from '../resources/access-rules.js';
import type { SshCredentialUsage } from './credential-usage.resource.js';
import type { SshCredential } from './ssh-credential.js';

const USAGE = {
  name: 'credential_usage_by_ids',
  text: `select t.credential_id as id, t.last_used_at from ${wantedRows('credential_usage', 'credential_id')} t`,
};

interface UsageRow {
  readonly id: string;
  readonly last_used_at: Date;
}

/** The newest report about an open session is the last sign of its client. */
const PRESENCE = {
  name: 'credential_presence_by_ids',
  text: `select t.credential_id as id, t.sessions > 0 as online, case when t.sessions > 0 then coalesce((
      select g.heard_at from tunnel_sessions s join gateway_runs g on g.id = s.gateway_id
      where s.account_id = t.account_id and s.credential_id = t.credential_id order by s.id desc limit 1
    ), t.last_seen_at) else t.last_seen_at end as last_seen_at
    from ${wantedRows('credential_presence', 'credential_id')} t`,
};

interface Presence {
  readonly online: boolean;
  readonly last_seen_at: Date;
}

/** When credentials last permitted a tunnel. This is kept longer than the decisions themselves. */
@Injectable()
export class CredentialUsage {
  private readonly find: (ref: Ref) => Promise<Date | undefined>;
  /** Whether a credential has an open session, and when it last had one. Undefined if never. */
  private readonly presence: (ref: Ref) => Promise<Presence | undefined>;

  constructor(@Inject(POOL) pool: Pool) {
    this.find = coalescedRows(pool, USAGE, (row: UsageRow) => row.last_used_at);
    this.presence = coalescedRows(pool, PRESENCE, (row: Presence & { readonly id: string }) => row);
  }

  /** RFC 3339; null if no use is recorded. */
  async lastUsedAt(ref: Ref): Promise<string | null> {
    return (await this.find(ref))?.toISOString() ?? null;
  }

  /** RFC 3339; undefined if it never had a session. */
  async lastSeenAt(ref: Ref): Promise<string | undefined> {
    return (await this.presence(ref))?.last_seen_at.toISOString();
  }

  /** As with sessions: other members do not see who is there. */
  async shownTo(caller: Caller, credential: Entity<SshCredential>): Promise<SshCredentialUsage> {
    const ref = { accountId: caller.accountId, id: credential.id };
    const isSeen = mayReadPrivate(caller, credential);
    const [last_used_at, presence] = await Promise.all([this.lastUsedAt(ref), isSeen ? this.presence(ref) : undefined]);
    const { online = false, last_seen_at: seenAt } = presence ?? {};
    return { online: isSeen ? online : null, last_seen_at: seenAt?.toISOString() ?? null, last_used_at };
  }
}
