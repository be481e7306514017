import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { eventsIn } from './event-stream.js';

const CHANGED = 'event: changed\ndata: {"ids":["ü"]}\n\n';

/** The events of an answer that comes in these parts, and the error that ends it. */
async function told(...parts: (string | Buffer)[]): Promise<unknown[]> {
  const events: unknown[] = [];
  try {
    const answer = Readable.from(parts.map((part) => Buffer.from(part))) as IncomingMessage;
    for await (const { name, data } of eventsIn(answer, () => undefined)) events.push([name, data]);
  } catch (error) {
    events.push((error as Error).name);
  }
  return events;
}

describe('a stream of changes', () => {
  it('tells each event, wherever the parts of the answer are cut', async () => {
    const bytes = Buffer.from(`: hello\n\nretry: 1000\n\nevent: ready\ndata: {}\n\n${CHANGED}`);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      expect(await told(bytes.subarray(0, cut), bytes.subarray(cut))).toEqual([
        ['ready', undefined],
        ['changed', { ids: ['ü'] }],
      ]);
    }
  });

  it('may have events about stops and reservations', async () => {
    const [stopped, reserved] = [`event: stopped\ndata: {"a":1}\n\n`, `event: reserved\ndata: {"names":["a:1"]}\n\n`];
    expect(await told(stopped, reserved)).toEqual([
      ['stopped', { a: 1 }],
      ['reserved', { names: ['a:1'] }],
    ]);
  });

  it('passes over the events of a later version, whatever their data is', async () => {
    expect(await told(`event: note\ndata: hello world\n\n${CHANGED}`)).toEqual([['changed', { ids: ['ü'] }]]);
  });

  it('tells what comes before a change that cannot be read', async () => {
    const broken = 'event: changed\ndata: {"ids"\n\n';
    expect(await told(`event: ready\ndata: now\n\n${CHANGED}${broken}`)).toEqual([
      ['ready', undefined],
      ['changed', { ids: ['ü'] }],
      'SyntaxError',
    ]);
  });

  const numbered = (id: number, event = CHANGED): string => `id: ${id}\n${event}`;
  const READY = 'event: ready\ndata: {}\n\n';

  it('is numbered, so that a lost event is noticed at the next one or at the next heartbeat', async () => {
    const whole = [numbered(0, READY), numbered(1), ': nothing new\nid: 1\n\n', numbered(2)];
    expect(await told(...whole)).toHaveLength(3);
    for (const lost of [1, 3]) {
      const parts = [...whole, ': nothing new\nid: 2\n\n'].filter((_, n) => n !== lost);
      expect((await told(...parts)).at(-1)).toBe('Error');
    }
    expect((await told(numbered(0, READY), numbered(1), numbered(1))).at(-1)).toBe('Error');
  });

  it('may have events of a later version, which have numbers too', async () => {
    expect(await told(numbered(0, READY), numbered(1, 'event: note\ndata: x\n\n'), numbered(2))).toHaveLength(2);
  });
});
