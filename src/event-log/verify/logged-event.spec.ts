import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { formatFault } from './logged-event.js';

const faultOf = (data: string, metadata = '{"actor":"system"}'): string | undefined =>
  formatFault({
    account_id: `ac_${'0'.repeat(27)}`,
    position: 1,
    stream_id: `bot_${'1'.repeat(27)}`,
    stream_version: 1,
    event_id: '01234567-89ab-cdef-0123-456789abcdef',
    type: 'bot_user_created.v1',
    occurred_at: '2026-01-02T03:04:05.000001Z',
    recorded_at: '2026-01-02T03:04:05.000001Z',
    leaf_hash: '',
    data,
    metadata,
  });

const NOT_DATA = 'data is not a JSON object as the service writes it';
const NO_ACTOR = 'metadata is not a JSON object that names an actor';

describe('the JSON of an event', () => {
  it('is in order as JSON.stringify makes it of an object', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const metadata = JSON.stringify({ actor: 'system', value });
        expect(faultOf(JSON.stringify(value), metadata)).toBeUndefined();
      }),
    );
  });

  it.each([
    '',
    '[]',
    'null',
    '{',
    '{}}',
    '{ }',
    '{"a":"x" }',
    '{"a":"x"}\n',
    '{"a":"x","a":"x"}',
    '{"b":"y","1":"x"}',
    '{"a":"\\u0041"}',
    '{"a":"\\/"}',
    '{"a":1.0}',
    '{"a":-0}',
    '{"a":123456789012345678}',
    '{"a":"\ud800"}',
  ])('is a fault otherwise: %s', (text) => {
    expect(faultOf(text)).toBe(NOT_DATA);
  });

  it('is a fault where it is deeper than JSON.stringify goes', () => {
    expect(faultOf(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)).toBe(NOT_DATA);
  });

  it.each(['{}', '{"actor":1}', '{"actor":"x","actor":"y"}', '{"actor": "x"}', '["actor"]'])(
    'names no actor in metadata %s',
    (metadata) => {
      expect(faultOf('{}', metadata)).toBe(NO_ACTOR);
    },
  );
});
