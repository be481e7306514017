import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { READ_MODELS } from '../../src/api/read-models.js';
import { AnyBody } from '../support/any-body.js';
import { history, play, playerOf } from '../support/histories.js';
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

/** Types of events that a call can cause. */
const TYPES = [
  ...['api_key', 'bot_user', 'ssh_credential', 'tcp_edge', 'user'].flatMap((name) =>
    ['created', 'deleted', 'updated'].map((what) => `${name}_${what}.v1`),
  ),
  'account_admins_changed.v1',
];

/** The types that no history has reached yet. Some take luck: to delete a user, a history must have created one. */
async function missingTypes(): Promise<string[]> {
  const { rows } = await service.pool.query<{ type: string }>('select distinct type from events');
  return TYPES.filter((type) => !rows.some((row) => row.type === type));
}

describe('after thousands of random calls', () => {
  it('every history of two accounts leaves rows that are the fold of the log', async () => {
    await expectLawsOfHistories(service, strict, 25);
  }, 300_000);

  it('the generator of histories reaches every type of event', async () => {
    for (let more = 0; more < 300 && (await missingTypes()).length > 0; more += 1) {
      const [steps = []] = fc.sample(history, 1);
      await play(playerOf(service.admin), steps);
    }
    expect(await missingTypes()).toEqual([]);
  }, 300_000);

  it('any body is accepted or refused with a reason', async () => {
    const anyBody = await AnyBody.on(service);
    await anyBody.post(400);
    await anyBody.patch(300);
    await anyBody.putModule(300);
    for (const model of READ_MODELS) await expectRowsToBeTheFoldOfTheLog(service.pool, model);
  }, 300_000);
});
