import type { Pool } from 'pg';
import { coalescedByRef, type Ref, type RefRow, wantedRows } from '../../database/coalesce.js';

const USAGE = {
  name: 'credential_usage_by_ids',
  text: `select t.account_id, t.credential_id as id, t.last_used_at from ${wantedRows('credential_usage', 'credential_id')} t`,
};

/** When credentials last permitted a tunnel. This is kept longer than the decisions themselves. */
export class CredentialUsage {
  private readonly find: (ref: Ref) => Promise<Date | undefined>;

  constructor(pool: Pool) {
    this.find = coalescedByRef(
      pool,
      USAGE,
      (row: RefRow & { readonly last_used_at: string }) => new Date(row.last_used_at),
    );
  }

  /** RFC 3339; null if no use is recorded. */
  async lastUsedAt(ref: Ref): Promise<string | null> {
    return (await this.find(ref))?.toISOString() ?? null;
  }
}
