import type { Pool } from 'pg';
import { AFTER_REPLICA, REPLICA_LIMITS, type Replica } from '../../database/replica/replica.js';
import { isId } from '../../ids.js';
import { malformed, type Problem } from '../../problem.js';
import type { EntityQueries, Queried, WantedPage } from '../entity-queries.js';
import { type AtHead, PositionedQueries } from './positioned-queries.js';

/**
 * Reads whose answer must show the log up to a position. The replica answers if it knows the position, or learns of it
 * soon; else the primary does, which knows every acknowledged one. So the promise is the same with and without a replica.
 */
export class PositionedReads {
  /** How many reads each has answered. */
  readonly answered = { replica: 0, primary: 0 };
  private readonly ofPrimary: PositionedQueries;
  private readonly ofReplica: PositionedQueries | undefined;

  constructor(
    private readonly entities: EntityQueries,
    primary: Pool,
    readonly replica: Replica | undefined,
  ) {
    this.ofPrimary = new PositionedQueries(primary, AFTER_REPLICA);
    this.ofReplica = replica && new PositionedQueries(replica.pool, REPLICA_LIMITS);
  }

  /** The same look-ups as those of EntityQueries. Both throw Problem if the log ends before the position. */
  at(position: number): Pick<EntityQueries, 'find' | 'list'> {
    return {
      find: async (resource, ref) =>
        isId(ref.id, resource.idPrefix) ? this.read(position, (queries) => queries.find(resource, ref)) : undefined,
      list: async <State extends object>(resource: Queried<State>, wanted: WantedPage<State>) => {
        const question = this.entities.question(resource, wanted);
        return this.read(position, (queries) => queries.page<State>(question, position));
      },
    };
  }

  private async read<Found>(
    position: number,
    ask: (queries: PositionedQueries) => Promise<AtHead<Found>>,
  ): Promise<Found> {
    const { replica, ofReplica } = this;
    const answer = ofReplica && (await replica?.read(position, () => ask(ofReplica)));
    if (typeof answer === 'object') {
      this.answered.replica += 1;
      return answer.found;
    }
    this.answered.primary += 1;
    const { head, found } = await ask(this.ofPrimary);
    if (head < position) throw inFuture(position, head);
    if (answer === 'behind') replica?.isBehind();
    return found;
  }
}

const inFuture = (position: number, head: number): Problem =>
  malformed(
    `Min-Log-Position ${position} is in the future: the log ends at position ${head}. If the log gave you this position, its end is lost.`,
  );
