import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL, queryNamed } from '../../database/index.js';
import type { Caller } from '../../kernel/caller.js';
import { readsEverything } from '../resources/access-rules.js';
import type { Labels } from './tunnel-group.js';

export const MAX_TUNNELS_OF_GROUP = 100;

/** `is true`: the tunnels are found by their labels, and not among all of the account. $2: groups with their labels as targets of tunnels; $3: the owner that the caller sees tunnels of, or null for all. */
const TUNNELS_OF_GROUPS = {
  name: 'tunnels_of_groups',
  text: `select g.id as group_id, t.id from json_to_recordset($2::json) as g(id text, labels jsonb) cross join lateral (
      select o.id from tunnels o where o.targets @> g.labels and (o.account_id = $1) is true and ($3::text is null or o.owner_id = $3)
      order by o.id desc limit ${MAX_TUNNELS_OF_GROUP}) t`,
};

interface Group {
  readonly id: string;
  readonly labels: Labels;
}

/** The open tunnels that have all labels of a group. No tunnel belongs to a group without labels. */
@Injectable()
export class OpenTunnelsOfGroups {
  constructor(@Inject(POOL) private readonly pool: Pool) {}

  /** The ids of the newest tunnels of each group, by the id of the group. */
  async of(caller: Caller, groups: readonly Group[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const labelled = groups.filter(({ labels }) => Object.keys(labels).length > 0);
    const tunnels = new Map<string, string[]>();
    if (labelled.length === 0) return tunnels;
    const asked = labelled.map(({ id, labels }) => ({
      id,
      labels: Object.entries(labels).map(([key, value]) => ({ label: { key, value } })),
    }));
    const owner = readsEverything(caller) ? null : caller.principalId;
    const values = [caller.accountId, JSON.stringify(asked), owner];
    const { rows } = await queryNamed<{ group_id: string; id: string }>(this.pool, TUNNELS_OF_GROUPS, values);
    for (const { group_id: group, id } of rows) tunnels.set(group, [...(tunnels.get(group) ?? []), id]);
    return tunnels;
  }
}
