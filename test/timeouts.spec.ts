import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TIMEOUTS, type Timeouts } from '../src/api/http/timeouts.js';
import { startBareServer } from './support/bare-server.js';
import { sendRaw } from './support/raw-http.js';

const SHORT: Timeouts = { keepAliveMs: 300, headersMs: 300, requestMs: 700, checkEveryMs: 30 };

describe('the server', () => {
  let bare: Awaited<ReturnType<typeof startBareServer>>;
  beforeAll(async () => {
    bare = await startBareServer();
  });
  afterAll(() => bare.nest.close());

  it('has timeouts that suit proxies, and no limit of requests for a connection', () => {
    const server = bare.nest.getHttpServer();
    expect(server).toMatchObject({
      keepAliveTimeout: TIMEOUTS.keepAliveMs,
      headersTimeout: TIMEOUTS.headersMs,
      requestTimeout: TIMEOUTS.requestMs,
    });
    expect(server.maxRequestsPerSocket ?? 0).toBe(0);
    expect(TIMEOUTS.keepAliveMs).toBeGreaterThan(60_000);
    expect(TIMEOUTS.headersMs).toBeLessThan(TIMEOUTS.requestMs);
  });
});

describe('a slow client', () => {
  let bare: Awaited<ReturnType<typeof startBareServer>>;
  beforeAll(async () => {
    bare = await startBareServer(SHORT);
  });
  afterAll(() => bare.nest.close());

  const expectTimeout = (answer: string) => {
    expect(answer).toMatch(/^HTTP\/1.1 408 Request Timeout\r\n/);
    expect(answer).toContain('\r\ncache-control: no-store\r\n');
    expect(answer).toContain('\r\nconnection: close\r\n');
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toEqual({
      error_code: 'ERR_TAS_408',
      status_code: 408,
      msg: 'The request did not arrive in time.',
      details: { operation_id: expect.stringMatching(/^op_[0-9A-Za-z]{27}$/) },
    });
  };
  const dripped = (text: string) => [...text.padEnd(1_000, 'x')];

  it('that sends its headers byte by byte gets 408', async () => {
    expectTimeout(await sendRaw(bare.url, dripped('GET /page HTTP/1.1\r\nHost: x\r\nX-Slow: '), 20));
  });

  it('that sends its body byte by byte gets 408', async () => {
    const head = 'POST /taken HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n';
    expectTimeout(await sendRaw(bare.url, [head, ...dripped('')], 20));
  });

  it('that sends no byte gets 408', async () => {
    expectTimeout(await sendRaw(bare.url, []));
  });

  it('that delays its next request is disconnected without an answer', async () => {
    const started = performance.now();
    const answer = await sendRaw(bare.url, ['POST /taken HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n']);
    expect(answer).toMatch(/^HTTP\/1.1 200 .*\{"taken":true\}$/s);
    expect(performance.now() - started).toBeGreaterThan(SHORT.keepAliveMs - 50);
  });

  it('does not hinder others: one connection serves hundreds of requests', async () => {
    const one = 'POST /taken HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n';
    const answer = await sendRaw(bare.url, [one.repeat(400)]);
    expect(answer.split('{"taken":true}')).toHaveLength(401);
  });
});
