import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { tcpEdgesReadModel } from '../src/api/tcp-edges/tcp-edges.read-model.js';
import { AnyBody } from './support/any-body.js';
import { expectRowsToBeTheFoldOfTheLog } from './support/replay.js';
import { type Service, startService } from './support/service.js';

/** `npm run test:load` tries many more. */
const RUNS = 40;

let service: Service;
let anyBody: AnyBody;
beforeAll(async () => {
  service = await startService();
  anyBody = await AnyBody.on(service);
});
afterAll(() => service.stop());

describe('for any body', () => {
  it('POST accepts it or answers 400 with a reason', () => anyBody.post(RUNS));
  it('PATCH accepts it or answers 400 with a reason', () => anyBody.patch(RUNS));
  it('PUT of a module accepts it or answers 400 with a reason', () => anyBody.putModule(RUNS));
  it('the rows are the fold of the log', () => expectRowsToBeTheFoldOfTheLog(service.pool, tcpEdgesReadModel));
});
