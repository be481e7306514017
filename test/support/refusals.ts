import { expect } from '@jest/globals';
import type { Answer } from './api-client.js';
import type { Service } from './service.js';

/** Assertions about refusals. `service` is a function, because tests start the service in `beforeAll`. */
export function refusalsOf(service: () => Service) {
  async function eventCount(): Promise<number> {
    const { rows } = await service().pool.query('select count(*)::int as n from events');
    return rows[0].n;
  }

  /** Asserts that a call was refused in the contract's shape, and stored no event. */
  async function expectRefusal(call: () => Promise<Answer>, status: number, code: string, msg: RegExp = /./) {
    const before = await eventCount();
    const answer = await call();
    expect(answer.body).toEqual({
      error_code: code,
      status_code: status,
      msg: expect.stringMatching(msg),
      details: { operation_id: expect.stringMatching(/^op_[0-9A-Za-z]{27}$/) },
    });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('ngrok-operation-id')).toBe(answer.body.details.operation_id);
    expect(await eventCount()).toBe(before);
    return answer;
  }

  return { eventCount, expectRefusal };
}
