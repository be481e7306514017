import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PATHS } from './support/histories.js';
import { expectLawsOfHistories } from './support/history-laws.js';
import { MAKERS } from './support/route-samples.js';
import { type Service, startCopy, startService } from './support/service.js';

let service: Service;
let strict: Awaited<ReturnType<typeof startCopy>>;
beforeAll(async () => {
  service = await startService();
  strict = await startCopy(service, { strict: true });
});
afterAll(async () => {
  await strict.stop();
  await service.stop();
});

it('a history is over every resource that the walks of the routes make', () => {
  // Service users are bots by another path.
  const resources = Object.keys(MAKERS).filter((path) => path !== 'service_users');
  expect(PATHS.map((path) => path.slice(1)).sort()).toEqual(resources.sort());
});

describe('after any history over all resources, by two accounts at once, one on a strict instance', () => {
  it('the rows are the fold of the log, no exclusive hostport has two edges, the proof finds no difference, and a repair of empty tables makes the same rows', async () => {
    await expectLawsOfHistories(service, strict, 5);
    const { rows } = await service.pool.query('select count(distinct type)::int as n from events');
    // Of 37 types; a history must not miss whole resources.
    expect(rows[0].n).toBeGreaterThan(16);
  });
});
