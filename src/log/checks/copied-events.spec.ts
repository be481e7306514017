import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { escaped } from '../../database/copy/copy-text.js';
import { type CheckedPart, checkPart, eventsOfPart, partsOf } from './copied-events.js';
import { type LoggedEvent, leafHash } from './logged-event.js';

const TYPES = new Map([['bot', new Set(['bot_user_created.v1'])]]);

/** In the order of COPIED_COLUMNS. */
const FIELDS = `account_id position stream_id stream_version event_id type occurred_at recorded_at leaf_hash metadata data`;

function lineOf(event: LoggedEvent): string {
  const fields = FIELDS.split(' ') as (keyof LoggedEvent)[];
  return `${fields.map((field) => escaped(String(event[field]))).join('\t')}\n`;
}

function eventOf(position: number, fields: Partial<LoggedEvent> = {}): LoggedEvent {
  const time = `2026-01-02T03:04:05.${String(position).padStart(6, '0')}Z`;
  const event = {
    account_id: `ac_${'0'.repeat(27)}`,
    position,
    stream_id: `bot_${'1'.repeat(27)}`,
    stream_version: 1,
    event_id: '01234567-89ab-cdef-0123-456789abcdef',
    type: 'bot_user_created.v1',
    occurred_at: time,
    recorded_at: time,
    leaf_hash: '',
    metadata: '{"actor":"system"}',
    data: '{"name":"x"}',
    ...fields,
  };
  return { ...event, leaf_hash: leafHash(event) };
}

const check = (lines: string): CheckedPart => checkPart(TYPES, { lines: Buffer.from(lines), after: '' });

async function faultsOf(parts: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for await (const part of partsOf(copied(parts))) {
    for (const { position, faults } of eventsOfPart(checkPart(TYPES, part)))
      found.push(...faults.map(({ what }) => `${position}: ${what}`));
  }
  return found;
}

async function* copied(parts: readonly string[]): AsyncGenerator<Buffer> {
  for (const part of parts) yield Buffer.from(part);
}

describe('events as COPY sends them', () => {
  it('have the hash of their text, whatever characters COPY escapes', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '"', '\\', '\n', '\t', '\r', '\b', 'N', 'ü', '😀', '\u0001') });
    fc.assert(
      fc.property(text, text, text, text, (type, stream_id, data, metadata) => {
        const event = eventOf(1, { type, stream_id, data, metadata });
        const [checked] = eventsOfPart(check(lineOf(event)));
        expect(checked?.hash.toString('hex')).toBe(event.leaf_hash);
        expect(checked?.faults.map(({ what }) => what)).not.toContain('its leaf_hash is not the hash of the event');
      }),
    );
  });

  it('are in order with any JSON that the service writes', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const event = eventOf(1, {
          data: JSON.stringify(value),
          metadata: JSON.stringify({ actor: 'system', user_agent: value }),
        });
        expect([...check(lineOf(event)).faults]).toEqual([]);
      }),
    );
  });

  it('have the same faults in whatever parts they come', async () => {
    const late = eventOf(7).recorded_at;
    // A raw line feed in data is a fault, and must not be taken for the end of an event.
    const third = { recorded_at: late, data: '{\nx}' };
    const events = [1, 2, 3, 4, 5].map((position) => eventOf(position, position === 3 ? third : {}));
    const lines = events.map(lineOf);
    const faults = [
      '3: data is not a JSON object as the service writes it',
      '4: recorded_at is not later than that of the previous event',
    ];
    for (let cut = 0; cut < lines.length; cut += 1) {
      const parts = [lines.slice(0, cut).join(''), lines.slice(cut).join('')].filter((part) => part !== '');
      expect(await faultsOf(parts)).toEqual(faults);
    }
    expect(await faultsOf(lines)).toEqual(faults);
  });
});
