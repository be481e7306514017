import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectLawsOfHistories } from './support/history-laws.js';
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

/** Types of events that a call can cause; a history must not miss one for long. */
const TYPES = [
  ...['api_key', 'bot_user', 'ssh_credential', 'tcp_edge', 'user'].flatMap((name) =>
    ['created', 'deleted', 'updated'].map((what) => `${name}_${what}.v1`),
  ),
  'account_admins_changed.v1',
];

describe('after any history over all resources, by two accounts at once, one on a strict instance', () => {
  it('the rows are the fold of the log, no exclusive hostport has two edges, the proof finds no difference, and a rebuild makes the same rows', async () => {
    await expectLawsOfHistories(service, strict, 5);
    const { rows } = await service.pool.query('select array_agg(distinct type) as types from events');
    expect(rows[0].types).toEqual(expect.arrayContaining(TYPES));
  });
});
