import { expect } from '@jest/globals';
import fc from 'fast-check';
import { READ_MODELS } from '../../src/api/read-models.js';
import { ApiClient } from './api-client.js';
import { provenOf } from './found.js';
import { history, play, playerOf } from './histories.js';
import { addAccount } from './principals.js';
import { repaired } from './repaired.js';
import { expectRowsToBeTheFoldOfTheLog } from './replay.js';
import type { Service, startCopy } from './service.js';

const TABLES = READ_MODELS.flatMap((model) => model.tables.map(({ name }) => name));

/** Every row of every read model, as PostgreSQL prints it. */
export async function allRows({ pool }: Service): Promise<string[]> {
  const query = TABLES.map((name) => `select '${name} ' || t::text as row from ${name} t`).join(' union all ');
  const { rows } = await pool.query(`${query} order by 1`);
  return rows.map(({ row }) => row);
}

async function expectExclusiveHostportsOnce({ pool }: Service): Promise<void> {
  const text = 'select hostport from tcp_edge_hostports where exclusive group by 1 having count(*) > 1';
  expect((await pool.query(text)).rows).toEqual([]);
}

/** Plays random histories of two accounts at once, one on a strict instance, and compares the rows with the log. */
export async function expectLawsOfHistories(
  service: Service,
  strict: Awaited<ReturnType<typeof startCopy>>,
  numRuns: number,
): Promise<void> {
  const { client } = await addAccount(service);
  const other = new ApiClient(strict.app.url, client.token);
  const property = fc.asyncProperty(history, history, async (mine, theirs) => {
    await Promise.all([play(playerOf(service.admin), mine), play(playerOf(other), theirs)]);
    for (const model of READ_MODELS) await expectRowsToBeTheFoldOfTheLog(service.pool, model);
    await expectExclusiveHostportsOnce(service);
    expect(await provenOf(service.app.database)).toMatchObject({ faults: [], differences: [] });
    const before = await allRows(service);
    await service.pool.query(`truncate ${TABLES}`);
    await repaired(service.app.database);
    expect(await allRows(service)).toEqual(before);
  });
  await fc.assert(property, { numRuns, endOnFailure: true });
}
