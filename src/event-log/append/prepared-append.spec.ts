import { describe, expect, it } from '@jest/globals';
import { prepareAppend } from './prepared-append.js';

describe('the size of an append', () => {
  it('is that of its texts in UTF-8', () => {
    const sizeOf = (description: string): number => {
      const events = [{ type: 'described', data: { description } }];
      const stream = { model: { tables: [], events: {} }, id: 'a_1', before: undefined, events, after: undefined };
      const append = { accountId: 'ac_1', metadata: { actor: 'usr_1' }, occurredAt: new Date(), streams: [stream] };
      return prepareAppend(append, Number.POSITIVE_INFINITY).sizeBytes;
    };
    expect(sizeOf('日本') - sizeOf('')).toBe(6);
  });
});
