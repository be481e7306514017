import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { READ_MODELS } from '../../src/read-models.js';
import { AnyBody } from '../support/any-body.js';
import { expectLawsOfHistories } from '../support/history-laws.js';
import { expectRowsToBeTheFoldOfTheLog } from '../support/replay.js';
import { type Service, startCopy, startService } from '../support/service.js';

/** The laws that `npm test` tries a few times, over and over. */
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

/** Types of events that a call can cause: the generator reaches each. */
const TYPES = [
  ...['api_key', 'bot_user', 'ssh_credential', 'tcp_edge', 'user'].flatMap((name) =>
    ['created', 'deleted', 'updated'].map((what) => `${name}_${what}.v1`),
  ),
  'account_admins_changed.v1',
];

describe('after thousands of random calls', () => {
  it('every history of two accounts leaves rows that are the fold of the log', async () => {
    await expectLawsOfHistories(service, strict, 25);
    const { rows } = await service.pool.query('select array_agg(distinct type) as types from events');
    expect(rows[0].types).toEqual(expect.arrayContaining(TYPES));
  }, 300_000);

  it('any body is accepted or refused with a reason', async () => {
    const anyBody = await AnyBody.on(service);
    await anyBody.post(400);
    await anyBody.patch(300);
    await anyBody.putModule(300);
    for (const model of READ_MODELS) await expectRowsToBeTheFoldOfTheLog(service.pool, model);
  }, 300_000);
});
