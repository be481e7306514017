import type { Client } from 'pg';
import { type DedicatedConnections, PostgresFailure } from '../../database/index.js';
import { type ClaimDifference, claimDifferences, rewriteClaims, wrongClaims } from '../claims/held-claims.js';
import type { Scope } from './folded-chunks.js';
import { FIRE_DEFERRED, refusalOf, refuseChanged } from './read-back.js';

/** How often a repair is tried after a deadlock with another account that claims the same values. */
const MAX_ATTEMPTS = 10;

/** Corrects the claims from the rows, some values of one account in each transaction. */
export class ClaimRepair {
  differences = 0;
  /** The longest time that the head of an account was locked. */
  longestHeldMs = 0;

  constructor(
    private readonly connections: DedicatedConnections,
    private readonly writer: Client,
    private readonly scope: Scope,
  ) {}

  /** `reader` has a snapshot in which the rows are right. */
  async run(reader: Client, onDifference: (difference: ClaimDifference) => void): Promise<void> {
    for await (const found of claimDifferences(reader, this.scope.models, this.scope.account)) {
      this.differences += found.length;
      for (const difference of found) onDifference(difference);
      const accounts = new Set(found.map(({ account }) => account));
      for (const account of accounts) {
        const values = found.filter((one) => one.account === account).map(({ key }) => key);
        await this.rewriteClaims(account, values);
      }
    }
    await this.connections.release(reader);
  }

  private async rewriteClaims(account: string, values: readonly string[]): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.tryOnce(account, values);
      } catch (error) {
        await this.writer.query('rollback').catch(() => undefined);
        if (!PostgresFailure.of(error).isDeadlock || attempt >= MAX_ATTEMPTS) throw refusalOf(error);
      }
    }
  }

  private async tryOnce(account: string, values: readonly string[]): Promise<void> {
    await this.connections.begin(this.writer);
    await this.writer.query('select from log_heads where account_id = $1 for update', [account]);
    const lockedMs = performance.now();
    await rewriteClaims(this.writer, this.scope.models, account, values);
    await this.writer.query(FIRE_DEFERRED);
    const wrong = await wrongClaims(this.writer, this.scope.models, account, values);
    refuseChanged(wrong.map((value) => `claims ${account} ${value}`));
    await this.connections.commit(this.writer);
    this.longestHeldMs = Math.max(this.longestHeldMs, performance.now() - lockedMs);
  }
}
