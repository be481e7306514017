import { describe, expect, it } from '@jest/globals';
import { feedFormatOf } from './feed-formats.js';

const BATCH = 'application/cloudevents-batch+json';

describe('the format of the feed', () => {
  it.each([
    [undefined, 'application/json'],
    ['', 'application/json'],
    ['*/*', 'application/json'],
    ['*', 'application/json'],
    ['text/html', 'application/json'],
    ['application/*', 'application/json'],
    ['text/*', 'text/event-stream'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'application/json'],
    ['application/json, text/plain, */*', 'application/json'],
    ['text/event-stream', 'text/event-stream'],
    ['text/event-stream, */*', 'text/event-stream'],
    ['text/event-stream;q=0.5, */*', 'application/json'],
    ['application/x-ndjson', 'application/x-ndjson'],
    ['application/ndjson', 'application/ndjson'],
    ['application/ndjson;q=0.9, application/x-ndjson;q=0.8', 'application/ndjson'],
    ['APPLICATION/X-NDJSON; Q=1', 'application/x-ndjson'],
    [BATCH, BATCH],
    [`${BATCH}; charset=utf-8`, BATCH],
    [`application/json;q=0.4 , ${BATCH};q=0.5`, BATCH],
    [`application/json, ${BATCH}`, 'application/json'],
    [`application/json;q=0, ${BATCH};q=0`, 'application/json'],
    [`application/json;q=0, */*;q=0.1`, BATCH],
    ['application/cloudevents+json, application/x-ndjson;q=0.5', 'application/x-ndjson'],
    ['application/x-ndjson;q=none', 'application/json'],
  ])('for Accept: %s is %s', (accept, format) => {
    expect(feedFormatOf(accept)).toBe(format);
  });
});
