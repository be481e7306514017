import type { Pool } from 'pg';
import { queryNamed } from '../../database/index.js';
import { Problem } from '../../kernel/problem.js';

/** The triggers on the tables that edges refer to report this constraint. */
export const NAMED_CONSTRAINT = 'named_by_edge';

/** The conditions match the index of names alone, so that PostgreSQL takes no other index. */
const EDGE_REFERENCE = {
  name: 'edge_reference',
  text: `select t.id from tcp_edges t where tcp_edge_names(t.account_id, t.backend, t.ip_restriction) @> array[$1 || ' ' || $2]
    and (t.backend is not null or t.ip_restriction is not null) limit 1`,
};

/**
 * In strict mode, nothing that an edge names is deleted. The look-up finds the edge for the message. A trigger decides
 * races: it looks again in the append of each deletion whose event has UNLESS_NAMED.
 */
export class EdgeReferences {
  /** The data of the event of a deletion. The triggers read it. */
  readonly deletionData: object;

  constructor(
    private readonly pool: Pool,
    private readonly isStrict: boolean,
  ) {
    this.deletionData = isStrict ? UNLESS_NAMED : {};
  }

  /** Throws conflict if an edge names what is to be deleted. `noun` says what that is. */
  async refuseNamed(accountId: string, id: string, noun: string): Promise<void> {
    if (!this.isStrict) return;
    const { rows } = await queryNamed<{ id: string }>(this.pool, EDGE_REFERENCE, [accountId, id]);
    const [edge] = rows;
    if (edge === undefined) return;
    throw new Problem('conflict', `The TCP edge '${edge.id}' names this ${noun}; change the edge first.`);
  }
}

/** Storage format: the triggers read it. */
const UNLESS_NAMED = { unless_named: true } as const;
