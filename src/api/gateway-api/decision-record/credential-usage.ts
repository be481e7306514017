import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { coalescedRows, POOL, type Ref, wantedRows } from '../../../database/index.js';

const USAGE = {
  name: 'credential_usage_by_ids',
  text: `select t.credential_id as id, t.last_used_at from ${wantedRows('credential_usage', 'credential_id')} t`,
};

interface UsageRow {
  readonly id: string;
  readonly last_used_at: Date;
}

/** When credentials last permitted a tunnel. This is kept longer than the decisions themselves. */
@Injectable()
export class CredentialUsage {
  private readonly find: (ref: Ref) => Promise<Date | undefined>;

  constructor(@Inject(POOL) pool: Pool) {
    this.find = coalescedRows(pool, USAGE, (row: UsageRow) => row.last_used_at);
  }

  /** RFC 3339; null if no use is recorded. */
  async lastUsedAt(ref: Ref): Promise<string | null> {
    return (await this.find(ref))?.toISOString() ?? null;
  }
}
