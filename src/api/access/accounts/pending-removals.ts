import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { type NamedStatement, POOL, queryNamed, type Ref, WRITE_LIMITS } from '../../../database/index.js';
import {
  EventLog,
  type EventMetadata,
  parseMetadata,
  type RecordedEvent,
  StreamConflict,
} from '../../../event-log/index.js';
import { IdSource } from '../../../kernel/ids.js';
import { OwnedEntities } from '../../resources/owned-entities.js';
import { principalsReadModel } from './principals.read-model.js';

const LATER = `due_at = clock_timestamp() + interval '5 seconds'`;

/** Postpones the row instead of locking it: the work takes many transactions, and its instance may die. */
const TAKE_DUE = {
  name: 'take_pending_removal',
  text: `update pending_removals set ${LATER}
    where (account_id, owner_id) = (select account_id, owner_id from pending_removals
      where due_at <= clock_timestamp() order by due_at limit 1 for update skip locked)
    returning account_id as "accountId", owner_id as id`,
};

/** Keeps the other instances from the same work, which may take minutes. */
const POSTPONE = {
  name: 'postpone_pending_removal',
  text: `update pending_removals set ${LATER} where account_id = $1 and owner_id = $2`,
};

/** Makes the row due now, so that the next sweep takes it. */
const LEAVE = {
  name: 'leave_pending_removal',
  text: 'update pending_removals set due_at = clock_timestamp() where account_id = $1 and owner_id = $2',
};

const FINISHED = {
  name: 'finish_pending_removal',
  text: 'delete from pending_removals where account_id = $1 and owner_id = $2',
};

const DELETION = {
  name: 'deletion_of_owner',
  text: 'select position::float8 as position, type, metadata, event_id from events where account_id = $1 and stream_id = $2 order by stream_version desc limit 1',
};

type Deletion = Pick<RecordedEvent, 'position' | 'type' | 'metadata'> & { readonly event_id: string };

/** The log has no deletion of the owner, so the service has not written the row. */
export class OwnerNotDeleted extends Error {}

/**
 * Removes the API keys and SSH credentials of deleted users and bots: those beyond one append, and those created just
 * before the deletion. The tables refuse new ones, and the service refuses every use of the remaining ones.
 */
@Injectable()
export class PendingRemovals {
  constructor(
    @Inject(POOL) private readonly pool: Pool,
    private readonly log: EventLog,
    private readonly owned: OwnedEntities,
    private readonly ids: IdSource,
  ) {}

  /** A deleted owner whose removals were left, or have rested for five seconds. The row of the owner is postponed. */
  async takeDue(): Promise<Ref | undefined> {
    const { rows } = await queryNamed<Ref & Record<string, string>>(this.pool, TAKE_DUE, [], WRITE_LIMITS);
    return rows[0];
  }

  /**
   * Removes what remains of the owner, and returns how many entities it removed. When the signal aborts, it leaves the
   * rest to others. Throws OwnerNotDeleted unless the log has the owner's deletion, since a row can be forged.
   */
  async finish(owner: Ref, signal: AbortSignal): Promise<number> {
    let [removed, lastId] = [0, ''];
    const deletion = await this.deletionOf(owner);
    let metadata: EventMetadata | undefined;
    while (!signal.aborted) {
      // Without the last id, PostgreSQL would step over all entities that were removed before.
      const streams = await this.owned.removalsOf(owner, lastId);
      if (streams.length === 0) {
        await this.change(FINISHED, owner);
        return removed;
      }
      await this.change(POSTPONE, owner);
      metadata ??= metadataOf(deletion);
      const append = { accountId: owner.accountId, metadata, occurredAt: this.ids.now(), streams };
      const count = await this.log.append(append).then(() => streams.length, zeroIfConflict);
      removed += count;
      lastId = streams[count - 1]?.id ?? lastId;
    }
    await this.change(LEAVE, owner);
    return removed;
  }

  private async change(statement: NamedStatement, { accountId, id }: Ref): Promise<void> {
    await queryNamed(this.pool, statement, [accountId, id], WRITE_LIMITS);
  }

  private async deletionOf({ accountId, id }: Ref): Promise<Deletion> {
    const { rows } = await queryNamed<Deletion>(this.pool, DELETION, [accountId, id]);
    const [last] = rows;
    if (last !== undefined && principalsReadModel.events[last.type]?.isEnd === true) return last;
    throw new OwnerNotDeleted(
      `pending_removals has a row of ${id} of ${accountId}, which is not deleted by the log, so nothing of it is removed. Another program has changed the database: run projections prove, and delete this row`,
    );
  }
}

/**
 * Throws Problem for an event that cannot be read. Every removal names who deleted the owner, in which operation and by
 * which event, whichever instance makes it.
 */
function metadataOf(deletion: Deletion): EventMetadata {
  const { idempotency_key: _, request_hash: __, ...metadata } = parseMetadata(deletion);
  return { ...metadata, causation_id: deletion.event_id };
}

/** Another instance removes the same entities, or someone changed one: what remains is looked up again. */
function zeroIfConflict(error: unknown): number {
  if (error instanceof StreamConflict) return 0;
  throw error;
}
