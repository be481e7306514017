import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { eventsIn } from './event-stream.js';

const CHANGED = 'event: changed\ndata: {"ids":["ü"]}\n\n';

/** What is told of an answer that comes in these parts, and the error that ends it. */
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
});
